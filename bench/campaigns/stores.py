"""The store that the campaigns are run against, in this process and in others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from queue import SimpleQueue

from antiphon.events.conformance.disk import UnluckyDisk
from antiphon.events.conformance.under_test import StoreUnderTest
from antiphon.events.segments.files import Files
from antiphon.events.segments.log import SegmentLog


def segments(root: Path, disk: UnluckyDisk | None = None) -> SegmentLog:
    """A handle on the store under `root` that answers every append before it returns."""
    disk = disk or UnluckyDisk()
    files = Files(write=disk.write, truncate=disk.truncate, sync=disk.sync)
    return SegmentLog(root, deliver=_nothing_to_deliver, files=files, slow_limit=1_000_000)


def _nothing_to_deliver(run: Callable[[], None]) -> None:
    raise AssertionError("an inline append has nothing to deliver")


@contextlib.contextmanager
def handle(root: Path, disk: UnluckyDisk | None = None) -> Iterator[SegmentLog]:
    log = segments(root, disk)
    try:
        yield log
    finally:
        log.close()


def elsewhere(root: Path, *, threaded: bool) -> tuple[str, ...]:
    """How another process opens it (child.py): as while the disk is quick, or as when it is not."""
    return (f"bench.campaigns.stores:{'with_a_thread' if threaded else 'inline'}", str(root))


def inline(root: str) -> StoreUnderTest:
    return StoreUnderTest(segments(Path(root)))


def with_a_thread(root: str) -> StoreUnderTest:
    """Every write counts as slow, so all go through the writer thread."""
    delivered: SimpleQueue[Callable[[], None]] = SimpleQueue()
    seconds = count()
    files = Files(clock=lambda: next(seconds) * 0.01)
    log = SegmentLog(Path(root), deliver=delivered.put, files=files, slow_limit=1)

    def settle() -> None:
        while log.stats.backlog:
            delivered.get()()

    return StoreUnderTest(log, settle=settle)
