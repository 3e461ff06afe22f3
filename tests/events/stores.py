"""Stores on files as tests need them: one that never leaves the caller's thread, one that always does."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from queue import SimpleQueue

from antiphon.events.conformance.disk import UnluckyDisk
from antiphon.events.conformance.under_test import StoreUnderTest
from antiphon.events.ids import SessionId
from antiphon.events.segments.descriptors import LIMIT
from antiphon.events.segments.files import Files
from antiphon.events.segments.log import SegmentLog


def inline(root: Path, files: Files = Files()) -> SegmentLog:
    """However slow the disk of the day is, every append is answered when it returns."""
    return SegmentLog(root, deliver=_nothing_to_deliver, files=files, slow_limit=1_000_000)


def _nothing_to_deliver(run: Callable[[], None]) -> None:
    raise AssertionError("an inline append has nothing to deliver")


class Threaded:
    """A store that finds every write slow, and the thread that owns it."""

    def __init__(self, root: Path, disk: UnluckyDisk | None = None) -> None:
        seconds: Iterator[int] = count()
        disk = disk or UnluckyDisk()
        self._delivered: SimpleQueue[Callable[[], None]] = SimpleQueue()
        files = Files(disk.write, disk.truncate, disk.sync, clock=lambda: next(seconds) * 0.01)
        self.log = SegmentLog(root, deliver=self._delivered.put, files=files, slow_limit=1)

    def settle(self) -> None:
        """Run what the writer thread has handed over, until nothing is out."""
        while self.log.stats.backlog:
            self._delivered.get(timeout=30)()


def on_disk(root: str) -> StoreUnderTest:
    """The store under `root` with all that it can do; also what the suite's other processes open."""
    path = Path(root)
    return StoreUnderTest(
        inline(path),
        another=lambda: inline(path),
        elsewhere=("tests.events.stores:on_disk", root),
        directory=path,
        files=lambda session: life_files(path, session),
        unlucky=lambda disk: inline(path, Files(disk.write, disk.truncate, disk.sync)),
        most_descriptors=most_descriptors,
    )


def on_a_slow_disk(root: str) -> StoreUnderTest:
    """The same with every append going through the writer thread, in other processes too."""
    path, stores = Path(root), list[Threaded]()

    def another(disk: UnluckyDisk | None = None) -> SegmentLog:
        stores.append(Threaded(path, disk))
        return stores[-1].log

    def settle() -> None:
        for store in stores:
            store.settle()

    return replace(
        on_disk(root),
        log=another(),
        settle=settle,
        another=another,
        elsewhere=("tests.events.stores:on_a_slow_disk", root),
        unlucky=another,
    )


def most_descriptors(sessions: int) -> int:
    """One for each, and what the store keeps open for those that write blobs."""
    return sessions + LIMIT


def life_files(root: Path, session: SessionId) -> Sequence[Path]:
    """The blobs and the events of a session's latest life."""
    *_, life = sorted(root.glob(f"sessions/*/{session}/*"), key=lambda life: int(life.name))
    return [life / "audio.blob", life / "events.log"]
