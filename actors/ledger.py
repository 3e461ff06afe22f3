"""Persist before publish: what was decided is released only when the log holds it, in order.

The ledger folds at once and lets the actor go on deciding; each batch waits for its Ack, and for every
batch before it. If an append fails or its outcome is unknown, the ledger drops its state, opens the log
anew (the next writer epoch), folds what is really there, and hands back the commands whose facts did not
land, so that they are decided again and not lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

import structlog
from msgspec import Struct
from msgspec.structs import replace

from antiphon.events.codec import refuse_unknown_critical
from antiphon.events.completion import Completion
from antiphon.events.envelope import Draft, Stored
from antiphon.events.errors import LogError
from antiphon.events.ids import Seq, SessionId
from antiphon.events.store import Ack, Expect, Lease, Log

from .runtime import Published
from .session.commands import Command
from .session.decide import Decision
from .session.effects import Effect
from .session.evolve import refold
from .session.state import Session

log = structlog.get_logger(__name__)

MOST_WAITING, MOST_WAITING_BYTES = 256, 16 * 1024 * 1024
"""Batches of one session that may wait for the log, and the bytes of audio and images in them."""

Then = Callable[[], None]
Guard = Callable[..., None]
"""Runs something with what it takes and lets nothing escape: the log answers outside of any actor's turn."""


class Asked(Struct, frozen=True, gc=False):
    """A command, the attachment it came from (0: none), and what waits until its facts are in the log."""

    command: Command
    attachment: int = 0
    then: tuple[Then, ...] = ()


class Batch(Struct, gc=False):
    """Decided facts on their way into the log."""

    first: Seq
    drafts: tuple[Draft, ...]
    state: Session
    effects: tuple[Effect, ...]
    asked: Asked
    writer_epoch: int
    end: int
    ack: Ack | None = None
    weight: int = 0
    """Bytes of audio and images, of one that was not answered at once."""


class Reopened(Struct, frozen=True):
    """What a new lease found.

    `lost`: commands whose facts did not land, in order, with what waits for them. `unseen`: stored events
    that were never released; `then` waits for those.
    """

    lost: list[Asked]
    unseen: list[Published]
    then: list[Then]


Release = Callable[[Sequence[Published], tuple[Effect, ...]], None]


class Ledger:
    """One session's state and its way into the log.

    `state` is what has been decided, `settled` what the log holds of it.
    """

    def __init__(
        self,
        session: SessionId,
        log: Log,
        *,
        owner: str,
        release: Release,
        failed: Callable[[LogError, Asked], None],
        guard: Guard,
    ) -> None:
        self.state = self.settled = Session(session)
        self.lease: Lease | None = None
        self._log, self._owner = log, owner
        self._release, self._failed, self._guard = release, failed, guard
        self._pending: deque[Batch] = deque()
        self._weight = 0
        self._released = Seq(0)

    @property
    def idle(self) -> bool:
        """Whether everything decided is in the log and released."""
        return not self._pending

    @property
    def is_behind(self) -> bool:
        """Whether so much waits for the log that nothing more should be asked. A disk that hangs answers
        nothing, and what it is to be told must not fill the memory."""
        return len(self._pending) > MOST_WAITING or self._weight > MOST_WAITING_BYTES

    def open(self, expect: Expect, folded: Session | None = None) -> Reopened:
        """Become the writer and fold what the log holds. What is in `folded` is folded and released already.

        Raises LogError (also UnknownCritical): then nobody can write.
        """
        self.lease, head = self._log.open(self.state.id, expect=expect, owner=self._owner)
        state = folded or Session(self.state.id)
        self._released = Seq(max(self._released, state.seq))
        unseen: list[Published] = []
        if expect is Expect.RESUME and head.next_seq > state.seq:
            life = self.lease.incarnation
            for stored in self._log.read(self.state.id, incarnation=life, start=state.seq):
                refuse_unknown_critical(stored)
                state = refold(state, stored)
                if stored.seq >= self._released:
                    unseen.append(Published(stored, self._payload(stored, self.lease.incarnation)))
        pending, self._pending, self._weight = self._pending, deque(), 0
        self.state = self.settled = state
        self._released = state.seq
        return Reopened(
            lost=[batch.asked for batch in pending if batch.end > head.next_seq],
            unseen=unseen,
            then=[then for batch in pending if batch.end <= head.next_seq for then in batch.asked.then],
        )

    def released(self) -> list[Published]:
        """Everything released so far, from the beginning of the log: what a new attachment begins with."""
        if self.lease is None or not self._released:
            return []
        return [one for one in self._stored(self.lease.incarnation) if one.stored.seq < self._released]

    def _stored(self, incarnation: int) -> Iterator[Published]:
        for stored in self._log.read(self.state.id, incarnation=incarnation):
            refuse_unknown_critical(stored)
            yield Published(stored, self._payload(stored, incarnation))

    def _payload(self, stored: Stored, incarnation: int) -> bytes | None:
        if stored.blob is None:
            return None
        return self._log.read_blob(self.state.id, stored.blob, incarnation=incarnation)

    def record(self, decision: Decision, asked: Asked) -> None:
        """Append what was decided and fold it. Released, now or later, in order."""
        lease = self.lease
        if lease is None:
            raise RuntimeError("the ledger is not open")
        first, drafts, state = self.state.seq, decision.drafts, decision.state
        self.state = state
        batch = Batch(first, drafts, state, decision.effects, asked, lease.writer_epoch, first + len(drafts))
        self._pending.append(batch)
        answer = self._log.append(lease, first, drafts)
        if answer.settled:  # nearly always: no need to be called back into our own turn
            self._answered(batch, answer)
        else:
            batch.weight = sum(len(draft.blob) for draft in drafts if draft.blob is not None)
            self._weight += batch.weight
            answer.then(lambda done: self._guard(self._answered, batch, done))

    def after(self, then: tuple[Then, ...]) -> None:
        """Call once everything recorded so far is in the log; at once if it is."""
        if not self._pending:
            for callback in then:
                callback()
            return
        last = self._pending[-1]
        last.asked = replace(last.asked, then=last.asked.then + then)

    def _answered(self, batch: Batch, done: Completion[Ack]) -> None:
        if self.lease is None or batch.writer_epoch != self.lease.writer_epoch:
            return  # an answer to a writer that is no more
        if done.error is not None:
            self._log.release(self.lease)  # a log has one writer, and we may still be the one it has
            self.lease = None
            self._failed(done.error, batch.asked)
            return
        batch.ack = done.result()
        pending = self._pending
        while pending and (ack := pending[0].ack) is not None:
            ready = pending.popleft()
            self._weight -= ready.weight
            self._released, self.settled = Seq(ready.end), ready.state
            self._release(_published(ready, ack), ready.effects)
            for then in ready.asked.then:
                then()

    def seal(self, reason: str) -> None:
        """Close the log for ever; one that cannot be sealed now stays as it is."""
        if self.lease is None:
            return
        try:
            self._log.seal(self.lease, reason)
        except LogError as error:
            log.warning("session.not_sealed", session=self.state.id, code=error.code)
        self.give_up()

    def give_up(self) -> None:
        """Stop writing without sealing: the log stays as it is for whoever opens it next."""
        self._pending.clear()
        self._weight = 0
        if self.lease is not None:
            self._log.release(self.lease)
            self.lease = None


def _published(batch: Batch, ack: Ack) -> list[Published]:
    published = []
    seq = batch.first
    for draft, ref in zip(batch.drafts, ack.blobs, strict=True):
        event = draft.event
        stored = Stored(seq, draft.at, event, ref, draft.cause, not event.ancillary)
        published.append(Published(stored, draft.blob))
        seq = Seq(seq + 1)
    return published
