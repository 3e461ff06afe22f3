"""Persist before publish: what was decided is released only when the log holds it, in order.

The ledger folds at once and lets the actor go on deciding; each batch waits for its Ack, and for every
batch before it. If an append fails or its outcome is unknown, the ledger drops its state, opens the log
anew (the next writer epoch), folds what is really there, and hands back the commands whose facts did not
land, so that they are decided again and not lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

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

Then = Callable[[], None]


class Asked(Struct, frozen=True):
    """A command, the attachment it came from (0: none), and what waits until its facts are in the log."""

    command: Command
    attachment: int = 0
    then: tuple[Then, ...] = ()


class Batch(Struct):
    """Decided facts on their way into the log."""

    first: Seq
    drafts: tuple[Draft, ...]
    effects: tuple[Effect, ...]
    asked: Asked
    writer_epoch: int
    ack: Ack | None = None

    @property
    def end(self) -> Seq:
        return Seq(self.first + len(self.drafts))


Release = Callable[[Sequence[Published], tuple[Effect, ...]], None]


class Ledger:
    """One session's state and its way into the log."""

    def __init__(
        self,
        session: SessionId,
        log: Log,
        *,
        owner: str,
        release: Release,
        failed: Callable[[LogError], None],
    ) -> None:
        self.state = Session(session)
        self.lease: Lease | None = None
        self._log, self._owner = log, owner
        self._release, self._failed = release, failed
        self._pending: deque[Batch] = deque()
        self._released = Seq(0)

    @property
    def idle(self) -> bool:
        """Whether everything decided is in the log and released."""
        return not self._pending

    def open(self, expect: Expect) -> tuple[list[Asked], list[Published]]:
        """Become the writer and fold what the log holds.

        Returns the commands whose facts did not land, in order and with what waits for them, and the stored
        events that were never released. Raises LogError (also UnknownCritical): then nobody can write.
        """
        self.lease, head = self._log.open(self.state.id, expect=expect, owner=self._owner)
        state = Session(self.state.id)
        unseen: list[Published] = []
        if expect is Expect.RESUME:
            for published in self._stored(self.lease.incarnation):
                state = refold(state, published.stored)
                if published.stored.seq >= self._released:
                    unseen.append(published)
        pending, self._pending = self._pending, deque()
        self.state, self._released = state, state.seq
        for batch in pending:
            if batch.end <= head.next_seq:
                _run(batch.asked.then)
        return [batch.asked for batch in pending if batch.end > head.next_seq], unseen

    def released(self) -> list[Published]:
        """Everything released so far, from the beginning of the log: what a new attachment begins with."""
        incarnation = self.state.incarnation
        return [one for one in self._stored(incarnation) if one.stored.seq < self._released]

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
        first, self.state = self.state.seq, decision.state
        batch = Batch(first, decision.drafts, decision.effects, asked, lease.writer_epoch)
        self._pending.append(batch)
        self._log.append(lease, first, decision.drafts).then(lambda done: self._settled(batch, done))

    def after(self, then: tuple[Then, ...]) -> None:
        """Call once everything recorded so far is in the log; at once if it is."""
        if not self._pending:
            _run(then)
            return
        last = self._pending[-1]
        last.asked = replace(last.asked, then=last.asked.then + then)

    def _settled(self, batch: Batch, done: Completion[Ack]) -> None:
        if self.lease is None or batch.writer_epoch != self.lease.writer_epoch:
            return  # an answer to a writer that is no more
        if done.error is not None:
            self.lease = None
            self._failed(done.error)
            return
        batch.ack = done.result()
        while self._pending and self._pending[0].ack is not None:
            ready = self._pending.popleft()
            self._released = ready.end
            self._release(_published(ready), ready.effects)
            _run(ready.asked.then)

    def seal(self, reason: str) -> None:
        if self.lease is not None:
            self._log.seal(self.lease, reason)
            self._log.release(self.lease)
            self.lease = None

    def give_up(self) -> None:
        """Stop writing without sealing: the log stays as it is for whoever opens it next."""
        if self.lease is not None:
            self._log.release(self.lease)
            self.lease = None


def _run(then: tuple[Then, ...]) -> None:
    for callback in then:
        callback()


def _published(batch: Batch) -> list[Published]:
    ack = batch.ack
    if ack is None:
        raise RuntimeError("released before it was stored")
    return [
        Published(Stored(Seq(batch.first + k), draft.at, draft.event, ack.blobs[k], draft.cause), draft.blob)
        for k, draft in enumerate(batch.drafts)
    ]
