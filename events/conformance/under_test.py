"""The store that a suite tries, and what it can do beyond being a log."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..completion import Completion
from ..envelope import Draft
from ..errors import LogError
from ..ids import Seq, SessionId
from ..store import Ack, Expect, Head, Lease, Log
from .disk import UnluckyDisk

_fresh = itertools.count()


def fresh_session() -> SessionId:
    """A session that no other case has: one store may serve several."""
    return SessionId(f"session-{next(_fresh)}")


@dataclass(frozen=True)
class StoreUnderTest:
    """A log, and what its store can do; what is not given is not tried.

    exclusive         a second opening is refused while the first lives; False: it takes over
    settle            gives answers that are still out, of every handle; for stores that answer late
    another           another handle on the same data, in this process; the suite closes it
    elsewhere         how another process opens the same data: "module:function" and its arguments; the
                      function returns a StoreUnderTest
    directory         where all that the store writes lies
    files             the files that hold the latest life of a session, in the order in which a batch is
                      written to them; they only ever grow at their ends
    unlucky           another handle on the same data that writes, truncates and syncs through this disk
    most_descriptors  how many descriptors the store may hold while so many sessions are open
    """

    log: Log
    exclusive: bool = True
    settle: Callable[[], None] = lambda: None
    another: Callable[[], Log] | None = None
    elsewhere: tuple[str, ...] | None = None
    directory: Path | None = None
    files: Callable[[SessionId], Sequence[Path]] | None = None
    unlucky: Callable[[UnluckyDisk], Log] | None = None
    most_descriptors: Callable[[int], int] | None = None

    def through(self, log: Log) -> StoreUnderTest:
        """The same store through another of its handles."""
        return replace(self, log=log)

    def open(self, session: SessionId, expect: Expect = Expect.NEW) -> tuple[Lease, Head]:
        return self.log.open(session, expect=expect, owner="the suite")

    def reopen(self, lease: Lease) -> tuple[Lease, Head]:
        """Take over from `lease`, as the store allows it."""
        self.give_way(lease)
        return self.open(lease.session, Expect.RESUME)

    def give_way(self, lease: Lease) -> None:
        """Do what must be done before somebody else may open the session."""
        if self.exclusive:
            self.log.release(lease)

    def ask(self, lease: Lease, expected: int, batch: Sequence[Draft]) -> Completion[Ack]:
        completion = self.log.append(lease, Seq(expected), batch)
        self.settle()
        assert completion.settled, "`settle` has not given every answer"
        return completion

    def append(self, lease: Lease, expected: int, batch: Sequence[Draft]) -> Ack:
        return self.ask(lease, expected, batch).result()

    def refusal(self, lease: Lease, expected: int, batch: Sequence[Draft]) -> LogError:
        error = self.ask(lease, expected, batch).error
        assert error is not None, "an append was accepted that had to be refused"
        return error

    def seqs(self, session: SessionId) -> list[int]:
        return [stored.seq for stored in self.log.read(session)]
