"""A life out of the store and into it: container.py says what travels."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

from ..container import Container, Unpacking
from ..errors import Corrupt, LifeExists
from ..vocabulary import WriterOpened
from . import audio
from .files import Files, full_disk, write_all
from .frame import HEADER_SIZE, SEAL, encode_header
from .layout import Layout, Life, sync_directory
from .lock import Lock
from .reader import Reader
from .recovery import drop_unsound, find_end
from .scan import Scanner

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BUFFER = 1 << 20


def export_life(life: Life) -> Container:
    """As far as it is stored now. Raises Corrupt, NotALog. Later appends do not change what is read."""
    events = os.open(life.events, os.O_RDONLY | os.O_CLOEXEC)
    try:
        blobs = _open_audio(life)
        try:
            events_end, audio_end = _ends(life, events, blobs)
        except BaseException:
            os.close(blobs)
            raise
    except BaseException:
        os.close(events)
        raise
    return Container(
        io.BufferedReader(Prefix(events, events_end), _BUFFER),
        io.BufferedReader(Prefix(blobs, audio_end), _BUFFER),
        name=f"{life.session}/{life.incarnation}",
    )


def _open_audio(life: Life) -> int:
    try:
        return os.open(life.audio, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Corrupt(life.audio, offset=0, seq=None, reason="the blob file is gone") from None


def _ends(life: Life, events: int, blobs: int) -> tuple[int, int]:
    """The bytes of both files that are the log."""
    header, erased = life.header(events), audio.is_erased(blobs)
    size = audio.TOMBSTONE_SIZE if erased else os.fstat(blobs).st_size
    if not erased and not audio.belongs(blobs, header):
        raise Corrupt(life.audio, offset=0, seq=None, reason="not the blob file of this log")
    with Reader(life) as reader:
        complete = erased or reader.head()[1]
    scanner = Scanner(events, path=life.events, seed=header.seed, offset=HEADER_SIZE)
    found, batches = find_end(scanner, sys.maxsize if complete else size)
    if not erased and found.audio_end > size:
        raise Corrupt(life.audio, offset=size, seq=found.next_seq - 1, reason="ends before its last payload")
    if scanner.seal is not None:
        return scanner.offset, size if erased else found.audio_end
    if not erased:
        drop_unsound(found, batches, blobs, life)
    return found.events_end, size if erased else found.audio_end


class Prefix(io.RawIOBase):
    """The first bytes of an open file, which it closes. `start` stands in place of the very first."""

    def __init__(self, fd: int, size: int, start: bytes = b"") -> None:
        self._fd, self._size, self._start, self._at = fd, size, start, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer)[: self._size - self._at]
        if self._at < len(self._start):
            read = min(len(view), len(self._start) - self._at)
            view[:read] = self._start[self._at : self._at + read]
        else:
            read = os.preadv(self._fd, [view], self._at) if view else 0
        self._at += read
        return read

    def close(self) -> None:
        if not self.closed:
            os.close(self._fd)
        super().close()


def import_life(layout: Layout, container: Container, files: Files) -> Life:
    """Check it, write it aside, make it durable, and only then put it where it belongs.

    Raises LifeExists, NotALog, Corrupt, StoreFull, Locked.
    """
    unpacking = Unpacking(container)
    header = unpacking.header
    life = layout.life(header.session, header.incarnation)
    _refuse_existing(layout, life)
    with full_disk(f"importing session {life.session}"), layout.incoming() as folder:
        writer_epoch, sealed = _write_aside(unpacking, folder, files)
        os.makedirs(life.directory, mode=0o700, exist_ok=True)
        lock = Lock.take(life, create=True)
        try:
            _refuse_existing(layout, life)
            lock.remember(writer_epoch, files)
            os.replace(f"{folder}/audio.blob", life.audio)
            if sealed:
                os.chmod(f"{folder}/events.log", 0o400)
            os.replace(f"{folder}/events.log", life.events)
            sync_directory(life.directory)
        finally:
            lock.drop()
    return life


def _refuse_existing(layout: Layout, life: Life) -> None:
    erased = life.incarnation in layout.erased(life.session)
    if erased or life.exists():
        raise LifeExists(life.session, life.incarnation, erased=erased)


def _write_aside(unpacking: Unpacking, folder: str, files: Files) -> tuple[int, bool]:
    """Write both files as they unpack. The last writer epoch of the log, and whether it is sealed."""
    writer_epoch, sealed, header = 0, False, unpacking.header
    with Spool(f"{folder}/events.log", files) as events, Spool(f"{folder}/audio.blob", files) as blobs:
        events.add(encode_header(header))
        blobs.add(unpacking.tombstone or audio.encode_header(header))
        for entry in unpacking:
            events.add(entry.frame)
            blobs.add(entry.payload)
            sealed = bool(entry.flags & SEAL)
            if entry.stored is not None and type(entry.stored.event) is WriterOpened:
                writer_epoch = entry.stored.event.writer_epoch
        events.sync()
        blobs.sync()
    return writer_epoch, sealed


class Spool:
    """A new file that is written in large pieces."""

    def __init__(self, path: str, files: Files) -> None:
        self._files = files
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._waiting = bytearray()

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def add(self, data: bytes) -> None:
        self._waiting += data
        if len(self._waiting) >= _BUFFER:
            self._flush()

    def sync(self) -> None:
        self._flush()
        self._files.sync(self._fd)

    def _flush(self) -> None:
        write_all(self._files, self._fd, bytes(self._waiting))
        self._waiting.clear()
