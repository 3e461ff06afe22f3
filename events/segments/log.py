"""The embedded log store: files in one directory that several processes share. Level `process`.

An Ack means that write(2) has returned: the events survive whatever happens to the process, but the last
moments may be lost when the machine loses power. One thread owns the store (opens, appends, seals) and hears
its answers; reading is free to all.
"""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from .. import diagnostics
from ..completion import Completion
from ..container import Container
from ..envelope import BlobRef, Draft, Stored
from ..errors import Corrupt, Fenced, Locked, LogError, NoSuchSession, NotALog, Sealed
from ..ids import Seq, SessionId
from ..store import Ack, CaughtUp, Deliver, Expect, Head, Holding, Lease, Level, Scope, SealedMark
from . import derived, landmarks, reading, record
from .batch import Batch
from .descriptors import Descriptors
from .erasing import erase
from .files import Files, full_disk
from .holdings import holdings
from .landmarks import Landmarks
from .lane import Lane, Stats
from .layout import Layout, Life
from .lock import is_held
from .opening import open_writer
from .portable import export_life, import_life
from .sealing import Sealing
from .writer import Writer


class SegmentLog:
    """Implements `Log` (store.py) on files. A live session keeps one descriptor: its events
    file, which is its lock too. At most `descriptors.LIMIT` more are open, of blob files often written to.

    `deliver` brings answers from the writer thread to the owning thread. `slow_limit` slow writes within ten
    seconds start that thread (lane.py). Without `keep_audio` a life's audio is erased when it is sealed, or
    when the store is closed: a released life may be resumed before that, and then needs it. What a crash left
    is for whoever looks through `holdings`. Raises NotALog when `root` holds a store of a newer format.
    """

    capabilities = frozenset({Level.PROCESS})

    def __init__(
        self,
        root: Path,
        *,
        deliver: Deliver,
        files: Files = Files(),
        slow_limit: int = 20,
        keep_audio: bool = True,
    ) -> None:
        self._layout = Layout(root)
        self._files, self._keep_audio = files, keep_audio
        self._writers: dict[SessionId, Writer] = {}
        self._leaving: dict[SessionId, Writer] = {}
        """Their seals are still on their way to the disk."""
        self._released: dict[SessionId, int] = {}
        """Incarnations that we wrote, did not seal, and do not write any more."""
        self._descriptors = Descriptors()
        self._new_lane: Callable[[], Lane] = partial(Lane, deliver, files.clock, slow_limit)
        self._lane = self._new_lane()
        _stores.add(self)

    @property
    def stats(self) -> Stats:
        return self._lane.stats

    def open(self, session: SessionId, *, expect: Expect, owner: str) -> tuple[Lease, Head]:
        self._let_finish(session)
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
        self._released.pop(session, None)
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
        life, writer = self._find(session, incarnation), self._live(session, incarnation)
        known = writer.landmarks if writer is not None else landmarks.kept(life) if start else Landmarks()
        return reading.events(life, start, stop, known.before(start))

    def read_blob(self, session: SessionId, ref: BlobRef, *, incarnation: int | None = None) -> bytes:
        if (writer := self._live(session, incarnation)) is not None:
            return writer.read_blob(ref)
        return reading.blob(self._find(session, incarnation), ref)

    def follow(self, session: SessionId, *, start: int = 0) -> AsyncIterator[Stored | CaughtUp | SealedMark]:
        return reading.follow(self._find(session, None), start)

    def head(self, session: SessionId, *, incarnation: int | None = None) -> Head:
        if (writer := self._live(session, incarnation)) is not None:
            return writer.head()
        return reading.head(self._find(session, incarnation))

    def sessions(self) -> Iterator[Head]:
        """A session whose file cannot be read is left out, and said so in the program's log."""
        for session in self._layout.sessions():
            try:
                yield self.head(session)
            except NoSuchSession:  # being made, or its making was cut short
                continue
            except (NotALog, Corrupt, OSError) as error:
                code = getattr(error, "code", "unreadable")
                diagnostics.warning("segments.session_unreadable", session=session, code=code)

    def lives(self, session: SessionId) -> tuple[int, ...]:
        self._layout.find(session, None)
        return tuple(life.incarnation for life in self._layout.lives(session))

    def export(self, session: SessionId, *, incarnation: int | None = None) -> Container:
        return export_life(self._find(session, incarnation))

    def import_(self, container: Container) -> Head:
        life = import_life(self._layout, container, self._files)
        return self.head(life.session, incarnation=life.incarnation)

    def erase(self, session: SessionId, scope: Scope, *, incarnation: int | None = None) -> None:
        """Raises OSError when the disk fails: what was to be erased may then still be there."""
        self._let_finish(session)
        erase(self._layout, session, scope, incarnation, self._files)

    def holdings(self) -> Iterator[Holding]:
        """What lies on the disk, of every life; for those who decide what may stay."""
        return holdings(self._layout)

    def holder(self, session: SessionId) -> int | None:
        """The process that has the latest life open for writing at this moment; None: nobody has.

        Whoever opens it just now is still called by the name of the last. Raises NoSuchSession.
        """
        life = self._find(session, None)
        return record.read(life.record).pid if is_held(life) else None

    def keep_derived(self, session: SessionId, incarnation: int, name: str, data: bytes) -> None:
        life = self._find(session, incarnation)
        derived.write(life.derived(name), data, self._files)
        if (writer := self._live(session, incarnation)) is not None:
            writer.landmarks.keep(life, self._files)

    def derived(self, session: SessionId, incarnation: int, name: str) -> bytes | None:
        return derived.read(self._find(session, incarnation).derived(name))

    def seal(self, lease: Lease, reason: str) -> None:
        """A seal that goes through the writer thread is not waited for.

        Whoever asks for the session in this process finds it sealed; should the seal fail after all, the log
        stays as it is for the next opener, and the program's log says so.
        """
        writer = self._writer(lease)
        if writer is None:
            refusal = self._refusal(lease)
            if isinstance(refusal, Sealed):
                return
            raise refusal
        life = self._layout.life(lease.session, lease.incarnation)
        footer = writer.take_seal(reason)
        sealing = Sealing(writer, life, self._files, keep_audio=self._keep_audio)
        if self._keep_audio:
            self._lane.write(sealing, footer)
        else:
            self._lane.write_aside(sealing, footer)
        if footer.acked.settled:
            footer.acked.result()
        else:
            footer.acked.then(partial(_warn, lease.session))
        self._leave(writer)

    def release(self, lease: Lease) -> None:
        writer = self._writer(lease)
        if writer is not None:
            if writer.waits:
                self._lane.flush()
            writer.close()
            del self._writers[lease.session]
            if not self._keep_audio:
                self._released[lease.session] = lease.incarnation

    def close(self) -> None:
        """Also erases, where audio is not kept, that of lives which were released and nobody resumed."""
        self._lane.close()
        for writer in (*self._leaving.values(), *self._writers.values()):
            writer.close()
            if not self._keep_audio:
                self._released[writer.lease.session] = writer.lease.incarnation
        self._writers.clear()
        self._leaving.clear()
        for session, incarnation in self._released.items():
            with contextlib.suppress(Locked, NoSuchSession):
                self.erase(session, Scope.AUDIO, incarnation=incarnation)

    def _leave(self, writer: Writer) -> None:
        """The lease is over with the seal taken; the writer has its files open until the seal is answered."""
        del self._writers[writer.lease.session]
        self._leaving = {session: other for session, other in self._leaving.items() if other.is_open}
        if writer.is_open:
            self._leaving[writer.lease.session] = writer

    def _let_finish(self, session: SessionId) -> None:
        """Wait for the seal of a session of ours, before it is looked at or opened again. In any thread."""
        writer = self._leaving.get(session)
        if writer is not None and writer.is_open:
            self._lane.flush()

    def _find(self, session: SessionId, incarnation: int | None) -> Life:
        self._let_finish(session)
        return self._layout.find(session, incarnation)

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
        for writer in (*self._writers.values(), *self._leaving.values()):
            writer.forget()
        for table in (self._writers, self._leaving, self._released):
            table.clear()
        self._lane = self._new_lane()


def _warn(session: SessionId, sealed: Completion[Ack]) -> None:
    if sealed.error is not None:
        diagnostics.warning("segments.not_sealed", session=session, code=sealed.error.code)


_stores: weakref.WeakSet[SegmentLog] = weakref.WeakSet()


def _after_fork() -> None:
    for store in _stores:
        store._forget()


os.register_at_fork(after_in_child=_after_fork)
