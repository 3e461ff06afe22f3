"""The interchange format of every store: one life of a session as two streams of bytes.

    events   the events file of the segment store (segments/frame.py): header, whole batches, seal if sealed
    audio    its blob file (segments/audio.py): payloads end to end, or the tombstone of erased audio

Exporting what was imported gives the same bytes. What arrives from elsewhere is not believed: `Unpacking`
hands out nothing that it has not checked, and says Corrupt or NotALog of anything that no store of ours
would have written.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import BinaryIO

import msgspec
from crc32c import crc32c
from msgspec import Struct

from .codec import MAX_BLOB, MAX_EVENT, decode
from .envelope import BlobRef, Stored
from .errors import Corrupt, NotALog
from .segments import audio
from .segments.frame import (
    BATCH_END,
    CRITICAL,
    FLAGS,
    FRAME_SIZE,
    HAS_BLOB,
    HEADER_SIZE,
    SEAL,
    Frame,
    Seal,
    decode_header,
    frame_at,
    length_of,
)
from .units import Moment

MOST_LIVES = 1_000_000
"""An incarnation beyond it was made up, perhaps to leave no number for the next."""


class Container:
    """An exported life, to be read once from the beginning. Leaving it as a context closes both streams.

    `name` is what errors call it.
    """

    def __init__(self, events: BinaryIO, audio: BinaryIO, *, name: str) -> None:
        self.events, self.audio, self.name = events, audio, name

    def __enter__(self) -> Container:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.events.close()
        self.audio.close()


class Entry(Struct, frozen=True, gc=False):
    """A checked frame as it was stored, and the payload it names. `stored` is None for the seal."""

    frame: bytes
    flags: int
    stored: Stored | None
    payload: bytes = b""


class Unpacking:
    """Reads a container, believing nothing. Raises NotALog, Corrupt.

    `header` and `tombstone` (of erased audio) are known from the start; iterating, once, gives the entries
    and raises at the first thing that is wrong. A container that was iterated to its end is whole. Holds one
    event and one payload at a time, both of bounded size.
    """

    def __init__(self, container: Container) -> None:
        self._events = _Source(container.events, f"{container.name}/events.log")
        self._audio = _Source(container.audio, f"{container.name}/audio.blob")
        self.header = decode_header(self._events.take(HEADER_SIZE), path=self._events.path)
        if self.header.incarnation >= MOST_LIVES:
            raise NotALog(self._events.path, f"nothing has lived {self.header.incarnation} times")
        self._seq, self._audio_end = 0, audio.START
        start = self._audio.take(audio.START)
        if audio.is_tombstone(start):
            start += self._audio.take(audio.TOMBSTONE_SIZE - audio.START)
            self.tombstone: bytes | None = audio.check_tombstone(start, self.header, path=self._audio.path)
        else:
            self.tombstone = None
            if start != audio.encode_header(self.header):
                raise self._audio.corrupt(0, None, "not the blob file of this log")

    def __iter__(self) -> Iterator[Entry]:
        in_batch = sealed = False
        while (frame := self._frame()) is not None:
            if sealed:
                raise self._damage(frame, "a frame after the seal")
            if frame.flags & SEAL:
                if in_batch:
                    raise self._damage(frame, "a seal within a batch")
                self._check_seal(frame)
                sealed = True
                yield Entry(self._events.last, frame.flags, None)
            else:
                entry = self._event(frame)
                in_batch = not frame.flags & BATCH_END
                self._seq += 1
                yield entry
        self._check_end(in_batch)

    def _frame(self) -> Frame | None:
        at = self._events.offset
        start = self._events.take(FRAME_SIZE)
        if not start:
            return None
        length = length_of(start)
        whole = start + self._events.take(length) if 0 < length <= MAX_EVENT else start
        frame = frame_at(memoryview(whole), 0, self.header.seed, at)
        if frame is None:
            raise self._events.corrupt(at, self._before, "damaged or unfinished frame")
        self._events.last = whole
        if frame.seq != self._seq:
            raise self._damage(frame, f"event {frame.seq} where {self._seq} was to come")
        if frame.flags & ~FLAGS:
            raise self._damage(frame, f"flags {frame.flags:#x} are not of this format")
        return frame

    def _event(self, frame: Frame) -> Entry:
        at, critical = Moment(frame.mono_ns, frame.wall_ns), bool(frame.flags & CRITICAL)
        try:
            stored = decode(frame.payload, seq=frame.seq, at=at, critical=critical)
        except msgspec.MsgspecError as error:
            raise self._damage(frame, f"not an event ({error})") from error
        if (stored.blob is not None) != bool(frame.flags & HAS_BLOB):
            raise self._damage(frame, "the frame and its event disagree about a payload")
        payload = b"" if stored.blob is None else self._payload(frame, stored.blob)
        return Entry(self._events.last, frame.flags, stored, payload)

    def _payload(self, frame: Frame, ref: BlobRef) -> bytes:
        if ref.offset != self._audio_end or not 0 <= ref.length <= MAX_BLOB:
            raise self._damage(frame, f"its payload cannot lie at {ref.offset}, {ref.length} bytes long")
        self._audio_end += ref.length
        if self.tombstone is not None:
            return b""
        payload = self._audio.take(ref.length)
        if len(payload) != ref.length or crc32c(payload) != ref.crc32c:
            raise self._audio.corrupt(ref.offset, frame.seq, "damaged payload")
        return payload

    def _check_seal(self, frame: Frame) -> None:
        try:
            seal = msgspec.msgpack.decode(frame.payload, type=Seal)
        except msgspec.MsgspecError as error:
            raise self._damage(frame, f"not a seal ({error})") from error
        said = (frame.flags, seal.events, seal.events_bytes, seal.audio_bytes)
        if said != (SEAL | BATCH_END, self._seq, frame.offset, self._audio_end):
            raise self._damage(frame, "the seal is not that of this log")

    def _check_end(self, in_batch: bool) -> None:
        if in_batch:
            raise self._events.corrupt(self._events.offset, self._before, "ends within a batch")
        if self._audio.take(1):
            raise self._audio.corrupt(self._audio.offset - 1, self._before, "bytes that no event names")

    @property
    def _before(self) -> int | None:
        return self._seq - 1 if self._seq else None

    def _damage(self, frame: Frame, reason: str) -> Corrupt:
        return self._events.corrupt(frame.offset, self._before, reason)


class _Source:
    """One stream, read in exact pieces. `last` is the last whole frame."""

    def __init__(self, stream: BinaryIO, path: str) -> None:
        self._stream, self.path = stream, path
        self.offset = 0
        self.last = b""

    def take(self, n: int) -> bytes:
        """The next `n` bytes; fewer only at the end."""
        taken = self._stream.read(n)
        while len(taken) < n and (more := self._stream.read(n - len(taken))):
            taken += more
        self.offset += len(taken)
        return taken

    def corrupt(self, offset: int, seq: int | None, reason: str) -> Corrupt:
        return Corrupt(self.path, offset=offset, seq=seq, reason=reason)
