"""Stores on files as tests need them: one that never leaves the caller's thread, one that always does."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from queue import SimpleQueue

from antiphon.events.segments.files import Files
from antiphon.events.segments.log import SegmentLog


def inline(root: Path, files: Files = Files()) -> SegmentLog:
    """However slow the disk of the day is, every append is answered when it returns."""
    return SegmentLog(root, deliver=_nothing_to_deliver, files=files, slow_limit=1_000_000)


def _nothing_to_deliver(run: Callable[[], None]) -> None:
    raise AssertionError("an inline append has nothing to deliver")


class Threaded:
    """A store that finds every write slow, and the thread that owns it."""

    def __init__(self, root: Path) -> None:
        seconds: Iterator[int] = count()
        self._delivered: SimpleQueue[Callable[[], None]] = SimpleQueue()
        files = Files(clock=lambda: next(seconds) * 0.01)
        self.log = SegmentLog(root, deliver=self._delivered.put, files=files, slow_limit=1)

    def settle(self) -> None:
        """Run what the writer thread has handed over, until nothing is out."""
        while self.log.stats.backlog:
            self._delivered.get(timeout=30)()
