"""The bytes of an events file: a header, then frames. Little endian.

    header   magic, format version, incarnation, created (wall ns), salt, session id, CRC32C of all that
    frame    u32 CRC32C of the salt and of everything below
             u32 length of the payload (never 0)
             u64 seq, u64 wall ns, u64 mono ns, u16 flags, u16 frame version
             payload: a stored event (codec.py), or a Seal

The salt is drawn per file: frames that an earlier file left on the disk do not pass as frames of this one.
`BATCH_END` makes a batch atomic: what follows the last one is not part of the log. The seal frame carries
the next seq but takes no place in the sequence.
"""

from __future__ import annotations

import re
from struct import Struct as Layout

from crc32c import crc32c
from msgspec import Struct, msgpack

from ..codec import MAX_EVENT
from ..errors import NotALog
from ..ids import SessionId

FORMAT = 1
CRITICAL, HAS_BLOB, BATCH_END, SEAL = 1, 2, 4, 8
FLAGS = CRITICAL | HAS_BLOB | BATCH_END | SEAL

_MAGIC = b"ANTIPHON"
_HEADER = Layout("<8sIIQ16s128s")
_CHECKSUM = Layout("<I")
HEADER_SIZE = _HEADER.size + _CHECKSUM.size

_FRAME_VERSION = 1
_FIELDS = Layout("<IQQQHH")
_FRAME = Layout("<IIQQQHH")
FRAME_SIZE = _FRAME.size
_SIGNATURE = b"\x01\x00\x95"
"""Frame version 1, then the first byte of every payload (a msgpack array of five)."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)


def is_session_id(name: str) -> bool:
    """May a session be called so? It fits the header, and is no path."""
    return _NAME.fullmatch(name) is not None


class FileHeader(Struct, frozen=True):
    session: SessionId
    incarnation: int
    created_ns: int
    salt: bytes

    @property
    def seed(self) -> int:
        """The checksum that every frame's checksum starts from."""
        return crc32c(self.salt)


class Seal(Struct, frozen=True, array_like=True):
    """Payload of the last frame of a closed log. Shaped like a stored event, so that scans recognise it."""

    reason: str
    events: int
    events_bytes: int
    audio_bytes: int
    version: int = 1


class Frame(Struct, frozen=True, gc=False):
    seq: int
    wall_ns: int
    mono_ns: int
    flags: int
    payload: bytes | memoryview
    offset: int


def encode_header(header: FileHeader) -> bytes:
    fields = _HEADER.pack(
        _MAGIC, FORMAT, header.incarnation, header.created_ns, header.salt, header.session.encode()
    )
    return fields + _CHECKSUM.pack(crc32c(fields))


def decode_header(data: bytes, *, path: str) -> FileHeader:
    """Raises NotALog when `data` does not begin an events file that this code can read."""
    if len(data) < HEADER_SIZE or not data.startswith(_MAGIC):
        raise NotALog(path, "not an events file")
    fields = data[: _HEADER.size]
    _, format_, incarnation, created_ns, salt, session = _HEADER.unpack(fields)
    if format_ != FORMAT:
        raise NotALog(path, f"format {format_}, this program reads {FORMAT}")
    if _CHECKSUM.unpack_from(data, _HEADER.size)[0] != crc32c(fields):
        raise NotALog(path, "damaged header")
    name = session.rstrip(b"\0").decode("ascii", "replace")
    if not is_session_id(name):
        raise NotALog(path, "its session id is not one")
    return FileHeader(SessionId(name), incarnation, created_ns, salt)


def is_sound_header(data: bytes) -> bool:
    """Is this as some events file's header was written, of whatever format?"""
    if len(data) < HEADER_SIZE or not data.startswith(_MAGIC):
        return False
    return bool(_CHECKSUM.unpack_from(data, _HEADER.size)[0] == crc32c(data[: _HEADER.size]))


def encode_frame(seq: int, wall_ns: int, mono_ns: int, flags: int, payload: bytes, seed: int) -> bytes:
    checked = _FIELDS.pack(len(payload), seq, wall_ns, mono_ns, flags, _FRAME_VERSION) + payload
    return crc32c(checked, seed).to_bytes(_CHECKSUM.size, "little") + checked


def encode_seal(seal: Seal, *, seq: int, wall_ns: int, mono_ns: int, seed: int) -> bytes:
    return encode_frame(seq, wall_ns, mono_ns, SEAL | BATCH_END, msgpack.encode(seal), seed)


def length_of(start: bytes) -> int:
    """The length of the payload that a frame claims which begins with `start`; 0 if that is too short."""
    return int(_FRAME.unpack(start)[1]) if len(start) == FRAME_SIZE else 0


def frame_at(view: memoryview, at: int, seed: int, base: int = 0) -> Frame | None:
    """The frame that begins at byte `at` of `view`, None unless all of it is there and sound.

    `base` is the place of the view in its file.
    """
    if len(view) - at < FRAME_SIZE:
        return None
    checksum, length, seq, wall_ns, mono_ns, flags, version = _FRAME.unpack_from(view, at)
    end = at + FRAME_SIZE + length
    if not 0 < length <= MAX_EVENT or version != _FRAME_VERSION or end > len(view):
        return None
    if crc32c(view[at + _CHECKSUM.size : end], seed) != checksum:
        return None
    return Frame(seq, wall_ns, mono_ns, flags, view[at + FRAME_SIZE : end], base + at)


def frames_in(data: bytes, seq: int, seed: int, base: int) -> list[Frame]:
    """The sound frames that follow each other at the start of `data`, from event `seq` on, up to a seal.

    What frame_at does, frame after frame, in half the time: replaying a log consists of this.
    """
    unpack, size, start = _FRAME.unpack_from, len(data), 0
    frames: list[Frame] = []
    while start + FRAME_SIZE <= size:
        checksum, length, at, wall_ns, mono_ns, flags, version = unpack(data, start)
        end = start + FRAME_SIZE + length
        if at != seq or end > size or not 0 < length <= MAX_EVENT or version != _FRAME_VERSION:
            break
        checked = data[start + 4 : end]  # slices of bytes, not of a view: the collector need not look at them
        if crc32c(checked, seed) != checksum:
            break
        frames.append(Frame(seq, wall_ns, mono_ns, flags, checked[FRAME_SIZE - 4 :], base + start))
        if flags & SEAL:
            break
        start, seq = end, seq + 1
    return frames


def find_frame(data: bytes, start: int, seed: int, base: int = 0) -> Frame | None:
    """The first sound frame that begins at or after byte `start`, wherever it lies."""
    view = memoryview(data)
    found = data.find(_SIGNATURE, start)
    while found >= 0:
        at = found - (FRAME_SIZE - 2)
        frame = frame_at(view, at, seed, base) if at >= start else None
        if frame is not None:
            return frame
        found = data.find(_SIGNATURE, found + 1)
    return None
