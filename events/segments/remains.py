"""What can still be read of a damaged life: both its files, as far as they explain each other."""

from __future__ import annotations

import contextlib
import io
import os
import time
from collections.abc import Iterator
from typing import BinaryIO

import msgspec
from crc32c import crc32c

from ..codec import blob_of, decode
from ..container import Container, Entry, Unpacking
from ..envelope import BlobRef, Stored
from ..errors import Corrupt, NotALog
from ..units import Moment
from . import audio
from .frame import (
    BATCH_END,
    CRITICAL,
    FRAME_SIZE,
    HAS_BLOB,
    HEADER_SIZE,
    SEAL,
    FileHeader,
    Frame,
    encode_header,
    find_frame,
    is_sound_header,
)
from .layout import Life
from .portable import Prefix


class Remains:
    """The sound prefix of a life, and what is sound behind it.

    A damaged header is replaced: its salt stands in both files. A blob file that is gone or another log's
    counts as erased, so that the events need not be cut for it. Holds all events in memory. Raises NotALog
    when nothing is recognised, or the file is of a newer format.
    """

    def __init__(self, life: Life) -> None:
        self._life = life
        with open(life.events, "rb") as events:
            self._data = events.read()
        self._start = b""
        with contextlib.suppress(FileNotFoundError), open(life.audio, "rb") as file:
            self._start = file.read(audio.TOMBSTONE_SIZE)
        self.header = self._header()
        self.audio_start = self._audio_start()
        """What a blob file for this prefix begins with; a tombstone where no payload is to be had."""
        self.next_seq, self.events_end, self.audio_end = 0, HEADER_SIZE, audio.START
        """The end of what `batches` has yielded."""

    def batches(self) -> Iterator[list[Entry]]:
        """The sound prefix, in whole batches; the last is the seal alone, if it is reached."""
        batch: list[Entry] = []
        with self._container() as container, contextlib.suppress(Corrupt):
            for entry in Unpacking(container):
                batch.append(entry)
                if entry.flags & BATCH_END:
                    self._pass(batch)
                    yield batch
                    batch = []

    def behind(self) -> Iterator[Stored]:
        """Sound events behind what `batches` has yielded, as they lie in the file, each once."""
        at, seen = self.events_end, set(range(self.next_seq))
        while (frame := find_frame(self._data, at, self.header.seed)) is not None:
            at = frame.offset + FRAME_SIZE + len(frame.payload)
            if frame.seq not in seen and not frame.flags & SEAL:
                seen.add(frame.seq)
                with contextlib.suppress(msgspec.MsgspecError):
                    yield _decode(frame)

    def _pass(self, batch: list[Entry]) -> None:
        for entry in batch:
            self.events_end += len(entry.frame)
            if entry.stored is not None:
                self.next_seq += 1
                self.audio_end += 0 if entry.stored.blob is None else entry.stored.blob.length

    def _container(self) -> Container:
        events = io.BytesIO(encode_header(self.header) + self._data[HEADER_SIZE:])
        return Container(events, self._blobs(), name=self._life.directory)

    def _blobs(self) -> BinaryIO:
        if audio.is_tombstone(self.audio_start) or not self._start:
            return io.BytesIO(self.audio_start)
        fd = os.open(self._life.audio, os.O_RDONLY | os.O_CLOEXEC)
        return io.BufferedReader(Prefix(fd, os.fstat(fd).st_size, self.audio_start))

    def _header(self) -> FileHeader:
        try:
            return self._life.header_in(self._data)
        except NotALog:
            salt = self._start[8:24]
            first = find_frame(self._data, 0, crc32c(salt)) if len(salt) == 16 else None
            if first is None or is_sound_header(self._data):  # not ours, or not for us
                raise
            return FileHeader(self._life.session, self._life.incarnation, first.wall_ns, salt)

    def _audio_start(self) -> bytes:
        own = audio.encode_header(self.header)
        if audio.is_tombstone(self._start):
            with contextlib.suppress(Corrupt):
                return audio.check_tombstone(self._start, self.header, path=self._life.audio)
        elif self._start[: audio.START] == own or self._first_payload_is_sound():
            return own
        return audio.tombstone(self.header.salt, when_ns=time.time_ns(), erased_bytes=0)

    def _first_payload_is_sound(self) -> bool:
        """Only the blob file's header is damaged, then. Also if there is no payload."""
        frame = find_frame(self._data, 0, self.header.seed)
        while frame is not None and not frame.flags & HAS_BLOB:
            frame = find_frame(self._data, frame.offset + 1, self.header.seed)
        ref = blob_of(frame.payload) if frame is not None else None
        return ref is None or _is_sound(self._life.audio, ref)


def _is_sound(path: str, ref: BlobRef) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        audio.read(fd, ref, path=path)
    except Corrupt:
        return False
    finally:
        os.close(fd)
    return True


def _decode(frame: Frame) -> Stored:
    at, critical = Moment(frame.mono_ns, frame.wall_ns), bool(frame.flags & CRITICAL)
    return decode(frame.payload, seq=frame.seq, at=at, critical=critical)
