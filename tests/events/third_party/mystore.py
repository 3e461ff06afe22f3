"""Stores as somebody else might write them: one that is right, and some that are each wrong in one way."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from antiphon.events.completion import Completion
from antiphon.events.conformance.disk import UnluckyDisk
from antiphon.events.conformance.under_test import StoreUnderTest
from antiphon.events.container import Container
from antiphon.events.envelope import BlobRef, Draft, Stored
from antiphon.events.errors import Corrupt, LogError, TooLarge, WrongSequence
from antiphon.events.ids import Seq, SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.segments.files import Files
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Ack, CaughtUp, Expect, Head, Lease, Level, Scope


class MyLog:
    """Keeps what it is given in memory, wherever it is told to keep it."""

    def __init__(self, path: Path | None = None) -> None:
        self.inner = MemoryLog()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class LosesTheLastOfABatch(MyLog):
    def __init__(self) -> None:
        super().__init__()
        self.lost: set[tuple[SessionId, int]] = set()

    def append(self, lease: Lease, expected: Seq, batch: Sequence[Draft]) -> Completion[Ack]:
        completion = self.inner.append(lease, expected, batch)
        if completion.error is None and len(batch) > 1:
            self.lost.add((lease.session, completion.result().last))
        return completion

    def read(self, session: SessionId, **place: Any) -> Iterator[Stored]:
        found = self.inner.read(session, **place)
        return (stored for stored in found if (session, stored.seq) not in self.lost)


class AcceptsAStaleLease(MyLog):
    def append(self, lease: Lease, expected: Seq, batch: Sequence[Draft]) -> Completion[Ack]:
        epoch = self.inner.head(lease.session).writer_epoch
        return self.inner.append(Lease(lease.session, lease.incarnation, epoch), expected, batch)


class Reorders(MyLog):
    def read(self, session: SessionId, **place: Any) -> Iterator[Stored]:
        found = list(self.inner.read(session, **place))
        return iter(found[:-2] + found[:-3:-1])


class StoresHalfABatch(MyLog):
    def append(self, lease: Lease, expected: Seq, batch: Sequence[Draft]) -> Completion[Ack]:
        completion = self.inner.append(lease, expected, batch)
        if isinstance(completion.error, TooLarge):
            self.inner.append(lease, expected, batch[:1])
        return completion


class ForgetsWhatItAnswered(MyLog):
    def append(self, lease: Lease, expected: Seq, batch: Sequence[Draft]) -> Completion[Ack]:
        actual = self.inner.head(lease.session).next_seq
        if expected < actual:
            return Completion.failed(WrongSequence(lease.session, expected=expected, actual=actual))
        return self.inner.append(lease, expected, batch)


class TakesAnyBlob(MyLog):
    def __init__(self) -> None:
        super().__init__()
        self.blobs: dict[int, bytes] = {}

    def append(self, lease: Lease, expected: Seq, batch: Sequence[Draft]) -> Completion[Ack]:
        completion = self.inner.append(lease, expected, batch)
        if completion.error is None:
            for ref, draft in zip(completion.result().blobs, batch, strict=True):
                if ref is not None:
                    self.blobs[ref.offset] = draft.blob or b""
        return completion

    def read_blob(self, session: SessionId, ref: BlobRef, **life: Any) -> bytes:
        return self.blobs.get(ref.offset, b"")[: ref.length]


class WritesAfterTheSeal(MyLog):
    def seal(self, lease: Lease, reason: str) -> None:
        pass


class FollowsWithAGap(MyLog):
    async def follow(self, session: SessionId, **place: Any) -> AsyncIterator[Any]:
        async for item in self.inner.follow(session, **place):
            if not (isinstance(item, Stored) and item.seq % 100 == 50):
                yield item


class AlwaysCatchesUp(MyLog):
    async def follow(self, session: SessionId, **place: Any) -> AsyncIterator[Any]:
        async for item in self.inner.follow(session, **place):
            yield item
            if isinstance(item, Stored):
                yield CaughtUp(Seq(item.seq + 1))


class ShowsWhatItRefuses(MyLog):
    def import_(self, container: Container) -> Head:
        events = container.events.read()
        container.events.seek(0)
        try:
            return self.inner.import_(container)
        except LogError:
            name = re.search(rb"session-[0-9]+", events)
            self.inner.open(SessionId(name[0].decode() if name else "x"), expect=Expect.NEW, owner="import")
            raise


class KeepsWhatWasErased(MyLog):
    def erase(self, session: SessionId, scope: Scope, **life: Any) -> None:
        lease, _ = self.inner.open(session, expect=Expect.RESUME, owner="an erasure")
        self.inner.seal(lease, "erased")


class LooksAtEverybody(MyLog):
    def __init__(self) -> None:
        super().__init__()
        self.opened: list[SessionId] = []

    def open(self, session: SessionId, **how: Any) -> tuple[Lease, Head]:
        self.opened.append(session)
        return self.inner.open(session, **how)

    def append(self, lease: Lease, expected: Seq, batch: Sequence[Draft]) -> Completion[Ack]:
        for session in self.opened:
            if session == "the one it looks for":
                break
        return self.inner.append(lease, expected, batch)


class OnFiles(SegmentLog):
    """To be wrong with files, one needs files."""

    def __init__(self, path: Path, disk: UnluckyDisk | None = None) -> None:
        disk = disk or UnluckyDisk()
        files = Files(disk.write, disk.truncate, disk.sync)
        self.path = path
        super().__init__(path, deliver=lambda call: call(), files=files, slow_limit=1_000_000)


class ShowsWhatIsNotStored(OnFiles):
    pending: ClassVar[dict[SessionId, list[Stored]]] = {}

    def append(self, lease: Lease, expected: Seq, batch: Sequence[Draft]) -> Completion[Ack]:
        self.pending[lease.session] = [
            Stored(Seq(expected + k), draft.at, draft.event) for k, draft in enumerate(batch)
        ]
        try:
            return super().append(lease, expected, batch)
        finally:
            del self.pending[lease.session]

    def read(self, session: SessionId, **place: Any) -> Iterator[Stored]:
        yield from super().read(session, **place)
        yield from self.pending.get(session, [])


class RepairsByCutting(OnFiles):
    def open(self, session: SessionId, **how: Any) -> tuple[Lease, Head]:
        try:
            return super().open(session, **how)
        except Corrupt as damage:
            os.truncate(damage.path, damage.offset)
            return super().open(session, **how)


class ForgetsTheKilled(OnFiles):
    """Keeps what it has answered to itself until there is enough of it."""

    def __init__(self, path: Path, disk: UnluckyDisk | None = None) -> None:
        super().__init__(path, disk)
        self.waiting: list[tuple[Lease, Seq, Sequence[Draft]]] = []

    def append(self, lease: Lease, expected: Seq, batch: Sequence[Draft]) -> Completion[Ack]:
        self.waiting.append((lease, expected, batch))
        if len(self.waiting) == 50:
            self.flush()
        last = Seq(expected + len(batch) - 1)
        return Completion.of(Ack(expected, last, Level.PROCESS, (None,) * len(batch)))

    def release(self, lease: Lease) -> None:
        self.flush()
        super().release(lease)

    def flush(self) -> None:
        for appended in self.waiting:
            super().append(*appended)
        self.waiting.clear()


class LeavesAudioBehind(OnFiles):
    def erase(self, session: SessionId, scope: Scope, **life: Any) -> None:
        for path in self.path.glob(f"sessions/*/{session}/0/audio.blob"):
            shutil.copy(path, self.path / "before-erasure")
        super().erase(session, scope, **life)


class HoldsEverythingOpen(OnFiles):
    def open(self, session: SessionId, **how: Any) -> tuple[Lease, Head]:
        self.held = [*getattr(self, "held", []), (self.path / "STORE").open()]
        return super().open(session, **how)

    def close(self) -> None:
        for file in getattr(self, "held", []):
            file.close()
        super().close()


def on_files(kind: str, path: str) -> StoreUnderTest:
    make: type[OnFiles] = globals()[kind]
    return StoreUnderTest(
        make(Path(path)),
        another=lambda: make(Path(path)),
        elsewhere=("mystore:on_files", kind, path),
        directory=Path(path),
        files=lambda session: [*Path(path).glob(f"sessions/*/{session}/0/[ae]*")],
        unlucky=lambda disk: make(Path(path), disk),
        most_descriptors=lambda sessions: sessions + 256,
    )
