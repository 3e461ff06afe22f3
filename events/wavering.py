"""A log for tests that answers late, and sometimes fails or does not know: what a caller must live with.

The test decides the fate of each append. Answers of one session come in the order of its appends, however
late; nothing here has a clock or a thread.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

from msgspec import Struct

from .completion import Completion
from .container import Container
from .envelope import BlobRef, Draft, Stored
from .errors import LogError, NoSuchSession, OutcomeUnknown, StoreFull
from .ids import Seq, SessionId
from .store import Ack, CaughtUp, Expect, Head, Lease, Log, Scope, SealedMark


class Fate(enum.Enum):
    """What becomes of an append.

    NOW: stored and answered, unless an earlier answer is still out. LATE: stored, answered by `settle`.
    FULL: not stored, StoreFull. STORED and LOST: OutcomeUnknown, and the batch is there or is not; the lease
    is dead.
    """

    NOW = "now"
    LATE = "late"
    FULL = "full"
    STORED = "stored"
    LOST = "lost"


class _Answer(Struct):
    to: Completion[Ack]
    what: Ack | LogError
    late: bool

    def give(self) -> None:
        if isinstance(self.what, LogError):
            self.to.fail(self.what)
        else:
            self.to.settle(self.what)


class WaveringLog:
    """Implements `Log` (store.py) over `inner`, which must answer at once (MemoryLog, or a quick SegmentLog).

    `plan` is asked once for each append that the log would store, e.g. an iterator's `__next__` or
    `lambda: data.draw(st.sampled_from(Fate))`.
    """

    def __init__(self, inner: Log, plan: Callable[[], Fate]) -> None:
        self.capabilities = inner.capabilities
        self._inner, self._plan = inner, plan
        self._answers: dict[Lease, deque[_Answer]] = {}
        """Not given yet. The first one of each is late; what stands behind it waits for it."""
        self._late: deque[Lease] = deque()
        self._dead: set[Lease] = set()

    @property
    def late(self) -> int:
        """How many answers `settle` could give."""
        return len(self._late)

    def settle(self, n: int = 1) -> None:
        """Give the `n` oldest late answers, and whatever waited behind them. No more than there are."""
        for _ in range(min(n, len(self._late))):
            answers = self._answers[self._late.popleft()]
            answers.popleft().give()
            while answers and not answers[0].late:
                answers.popleft().give()

    def settle_all(self) -> None:
        """Also what callbacks append meanwhile."""
        while self._late:
            self.settle()

    def append(self, lease: Lease, expected: Seq, batch: Sequence[Draft]) -> Completion[Ack]:
        if not batch:
            raise ValueError("an append needs at least one event")
        answers = self._answers.setdefault(lease, deque())
        if any(isinstance(answer.what, StoreFull) for answer in answers):
            self._kill(lease)  # one failure fails all behind it
        if lease in self._dead:
            answer = _Answer(Completion(), OutcomeUnknown("an earlier append is in doubt"), late=False)
        else:
            answer = self._decide(lease, expected, batch)
        if answer.late:
            self._late.append(lease)
        if answer.late or answers:
            answers.append(answer)
        else:
            answer.give()
        return answer.to

    def _decide(self, lease: Lease, expected: Seq, batch: Sequence[Draft]) -> _Answer:
        fate = self._plan() if self._would_store(lease, expected) else Fate.NOW
        what: Ack | LogError
        if fate is Fate.FULL:
            what = StoreFull("the test says so")
        elif fate is Fate.LOST:
            what = OutcomeUnknown("the test says so")
        else:
            stored = self._inner.append(lease, expected, batch)
            what = stored.error or stored.result()
            if fate is Fate.STORED:
                what = OutcomeUnknown("the test says so")
        if fate in (Fate.LOST, Fate.STORED):
            self._kill(lease)
        return _Answer(Completion(), what, late=fate is Fate.LATE)

    def _would_store(self, lease: Lease, expected: Seq) -> bool:
        try:
            head = self._inner.head(lease.session, incarnation=lease.incarnation)
        except NoSuchSession:
            return False
        return (head.writer_epoch, head.next_seq, head.sealed) == (lease.writer_epoch, expected, False)

    def _kill(self, lease: Lease) -> None:
        self._dead.add(lease)
        self._inner.release(lease)

    def open(self, session: SessionId, *, expect: Expect, owner: str) -> tuple[Lease, Head]:
        return self._inner.open(session, expect=expect, owner=owner)

    def read(
        self, session: SessionId, *, incarnation: int | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[Stored]:
        return self._inner.read(session, incarnation=incarnation, start=start, stop=stop)

    def read_blob(self, session: SessionId, ref: BlobRef, *, incarnation: int | None = None) -> bytes:
        return self._inner.read_blob(session, ref, incarnation=incarnation)

    def follow(self, session: SessionId, *, start: int = 0) -> AsyncIterator[Stored | CaughtUp | SealedMark]:
        return self._inner.follow(session, start=start)

    def head(self, session: SessionId, *, incarnation: int | None = None) -> Head:
        return self._inner.head(session, incarnation=incarnation)

    def sessions(self) -> Iterator[Head]:
        return self._inner.sessions()

    def lives(self, session: SessionId) -> tuple[int, ...]:
        return self._inner.lives(session)

    def export(self, session: SessionId, *, incarnation: int | None = None) -> Container:
        return self._inner.export(session, incarnation=incarnation)

    def import_(self, container: Container) -> Head:
        return self._inner.import_(container)

    def erase(self, session: SessionId, scope: Scope, *, incarnation: int | None = None) -> None:
        self._inner.erase(session, scope, incarnation=incarnation)

    def keep_derived(self, session: SessionId, incarnation: int, name: str, data: bytes) -> None:
        self._inner.keep_derived(session, incarnation, name, data)

    def derived(self, session: SessionId, incarnation: int, name: str) -> bytes | None:
        return self._inner.derived(session, incarnation, name)

    def seal(self, lease: Lease, reason: str) -> None:
        if lease in self._dead:
            raise OutcomeUnknown("an earlier append is in doubt")
        self._inner.seal(lease, reason)

    def release(self, lease: Lease) -> None:
        self._inner.release(lease)

    def close(self) -> None:
        """Late answers stay out: whoever waits for them outlives the log."""
        self._inner.close()
