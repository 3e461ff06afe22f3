"""The embedded log store: files in one directory that several processes share. Level `process`.

An Ack means that write(2) has returned: the events survive whatever happens to the process, but the last
moments may be lost when the machine loses power. One thread owns the store (opens, appends, seals) and hears
its answers; reading is free to all.
"""

from __future__ import annotations

import asyncio
import os
import sys
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import structlog

from ..completion import Completion
from ..container import Container
from ..envelope import BlobRef, Draft, Stored
from ..errors import Corrupt, Erased, Fenced, LogError, NoSuchSession, NotALog, Sealed
from ..ids import Seq, SessionId
from ..store import Ack, CaughtUp, Deliver, Expect, Head, Holding, Lease, Level, Scope, SealedMark
from . import audio
from .batch import Batch
from .descriptors import Descriptors
from .erasing import erase
from .files import Files, full_disk
from .holdings import holdings
from .lane import Lane, Stats
from .layout import Layout
from .lock import last_epoch
from .opening import open_writer
from .portable import export_life, import_life
from .reader import Reader
from .writer import Writer

FOLLOW_WINDOW = 1 << 16
"""Bytes that `follow` reads at a time: a few ms of decoding between two turns of the event loop."""
POLL_S = 0.01

_log = structlog.get_logger()


class SegmentLog:
    """Implements `Log` (store.py) on files. A live session keeps one descriptor for its lock; at most
    `descriptors.LIMIT` more are open, for the files that were used lately.

    `deliver` brings answers from the writer thread to the owning thread. `slow_limit` slow writes within ten
    seconds start that thread (lane.py). Raises NotALog when `root` holds a store of a newer format.
    """

    capabilities = frozenset({Level.PROCESS})

    def __init__(self, root: Path, *, deliver: Deliver, files: Files = Files(), slow_limit: int = 20) -> None:
        self._layout = Layout(root)
        self._files = files
        self._writers: dict[SessionId, Writer] = {}
        self._descriptors = Descriptors()
        self._new_lane: Callable[[], Lane] = partial(Lane, deliver, files.clock, slow_limit)
        self._lane = self._new_lane()
        _stores.add(self)

    @property
    def stats(self) -> Stats:
        return self._lane.stats

    def open(self, session: SessionId, *, expect: Expect, owner: str) -> tuple[Lease, Head]:
        with full_disk(f"opening session {session}"):
            writer = open_writer(
                self._layout,
                session,
                expect=expect,
                owner=owner,
                files=self._files,
                descriptors=self._descriptors,
            )
        self._writers[session] = writer
        return writer.lease, writer.head()

    def append(self, lease: Lease, expected: Seq, batch: Sequence[Draft]) -> Completion[Ack]:
        if not batch:
            raise ValueError("an append needs at least one event")
        writer = self._writers.get(lease.session)
        if writer is None or (writer.lease is not lease and writer.lease != lease):
            return Completion.failed(self._refusal(lease))
        taken = writer.take(expected, batch)
        if not isinstance(taken, Batch):
            return taken
        self._lane.write(writer, taken)
        return taken.acked

    def read(
        self, session: SessionId, *, incarnation: int | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[Stored]:
        life = self._layout.find(session, incarnation)

        def events() -> Iterator[Stored]:
            with Reader(life) as reader:
                while (found := reader.step(start)) is not None:
                    if stop is not None and reader.next_seq >= stop:
                        yield from (stored for stored in found if stored.seq < stop)
                        return
                    yield from found

        return events()

    def read_blob(self, session: SessionId, ref: BlobRef, *, incarnation: int | None = None) -> bytes:
        if (writer := self._live(session, incarnation)) is not None:
            return writer.read_blob(ref)
        life = self._layout.find(session, incarnation)
        try:
            fd = os.open(life.audio, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise Corrupt(life.audio, offset=ref.offset, seq=None, reason="the blob file is gone") from None
        try:
            if audio.is_erased(fd):
                raise Erased(session, life.incarnation)
            return audio.read(fd, ref, path=life.audio)
        finally:
            os.close(fd)

    async def follow(
        self, session: SessionId, *, start: int = 0
    ) -> AsyncIterator[Stored | CaughtUp | SealedMark]:
        with Reader(self._layout.find(session, None), window=FOLLOW_WINDOW) as reader:
            caught_up = False
            while True:
                while reader.has_more() and (events := reader.step(start)) is not None:
                    for stored in events:
                        yield stored
                    await asyncio.sleep(0)
                if not caught_up:
                    caught_up = True
                    yield CaughtUp(Seq(reader.next_seq))
                if reader.sealed:
                    yield SealedMark(Seq(reader.next_seq))
                    return
                await asyncio.sleep(POLL_S)

    def head(self, session: SessionId, *, incarnation: int | None = None) -> Head:
        if (writer := self._live(session, incarnation)) is not None:
            return writer.head()
        life = self._layout.find(session, incarnation)
        with Reader(life) as reader:
            next_seq, sealed = reader.head()
        audio_end = audio.end(life.audio)
        return Head(
            session,
            life.incarnation,
            last_epoch(life.lock),
            Seq(next_seq),
            audio_bytes=0 if audio_end == sys.maxsize else audio_end,
            sealed=sealed,
            erased=audio.erased_at(life.audio),
        )

    def sessions(self) -> Iterator[Head]:
        """A session whose file cannot be read is left out, and said so in the program's log."""
        for session in self._layout.sessions():
            try:
                yield self.head(session)
            except NoSuchSession:  # being made, or its making was cut short
                continue
            except (NotALog, Corrupt, OSError) as error:
                code = getattr(error, "code", "unreadable")
                _log.warning("segments.session_unreadable", session=session, code=code)

    def lives(self, session: SessionId) -> tuple[int, ...]:
        self._layout.find(session, None)
        return tuple(life.incarnation for life in self._layout.lives(session))

    def export(self, session: SessionId, *, incarnation: int | None = None) -> Container:
        return export_life(self._layout.find(session, incarnation))

    def import_(self, container: Container) -> Head:
        life = import_life(self._layout, container, self._files)
        return self.head(life.session, incarnation=life.incarnation)

    def erase(self, session: SessionId, scope: Scope, *, incarnation: int | None = None) -> None:
        erase(self._layout, session, scope, incarnation, self._files)

    def holdings(self) -> Iterator[Holding]:
        """What lies on the disk, of every life; for those who decide what may stay."""
        return holdings(self._layout)

    def seal(self, lease: Lease, reason: str) -> None:
        writer = self._writer(lease)
        if writer is None:
            refusal = self._refusal(lease)
            if isinstance(refusal, Sealed):
                return
            raise refusal
        self._lane.flush()
        if not writer.sealed:
            writer.seal(reason)

    def release(self, lease: Lease) -> None:
        writer = self._writer(lease)
        if writer is not None:
            self._lane.flush()
            writer.close()
            del self._writers[lease.session]

    def close(self) -> None:
        self._lane.close()
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def _writer(self, lease: Lease) -> Writer | None:
        writer = self._writers.get(lease.session)
        return writer if writer is not None and writer.lease == lease else None

    def _live(self, session: SessionId, incarnation: int | None) -> Writer | None:
        """Our own open writer of that life: it knows without looking at the disk."""
        writer = self._writers.get(session)
        if writer is None or not writer.is_open or incarnation not in (None, writer.lease.incarnation):
            return None
        return writer

    def _refusal(self, lease: Lease) -> LogError:
        """Why a lease that is not current may not write."""
        try:
            head = self.head(lease.session, incarnation=lease.incarnation)
        except LogError as error:
            return error
        if head.sealed:
            return Sealed(lease.session)
        return Fenced(lease.session, given=lease.writer_epoch, current=head.writer_epoch)

    def _forget(self) -> None:
        """In a forked child: the sessions are the parent's to write."""
        for writer in self._writers.values():
            writer.forget()
        self._writers.clear()
        self._lane = self._new_lane()


_stores: weakref.WeakSet[SegmentLog] = weakref.WeakSet()


def _after_fork() -> None:
    for store in _stores:
        store._forget()


os.register_at_fork(after_in_child=_after_fork)
