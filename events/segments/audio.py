"""The blob file of a life: a small header, then payloads end to end. Which is which, only the events know.

When the audio is erased, a tombstone takes the file's place: it belongs to the same log and says when, and
how many bytes of payload there were.
"""

from __future__ import annotations

import os
import sys
from struct import Struct as Layout

from crc32c import crc32c

from ..codec import MAX_BLOB
from ..envelope import BlobRef
from ..errors import Corrupt
from .frame import FileHeader

_MAGIC = b"ANTIBLOB"
_HEADER = Layout("<8s16s")
START = _HEADER.size
"""Where the first payload lies."""

_TOMBSTONE_MAGIC = b"ANTIVOID"
_TOMBSTONE = Layout("<8s16sQQ")
_CHECKSUM = Layout("<I")
TOMBSTONE_SIZE = _TOMBSTONE.size + _CHECKSUM.size


def encode_header(header: FileHeader) -> bytes:
    """Carries the events file's salt, so that the two cannot be mixed up."""
    return _HEADER.pack(_MAGIC, header.salt)


def belongs(fd: int, header: FileHeader) -> bool:
    return os.pread(fd, START, 0) == encode_header(header)


def read(fd: int, ref: BlobRef, *, path: str) -> bytes:
    """Raises Corrupt when what lies there is not what was written."""
    if ref.offset < START or not 0 <= ref.length <= MAX_BLOB:
        raise Corrupt(path, offset=ref.offset, seq=None, reason="no payload can lie there")
    payload = os.pread(fd, ref.length, ref.offset)
    if len(payload) != ref.length or crc32c(payload) != ref.crc32c:
        raise Corrupt(path, offset=ref.offset, seq=None, reason="damaged payload")
    return payload


def tombstone(salt: bytes, *, when_ns: int, erased_bytes: int) -> bytes:
    """What takes the place of the blob file whose events file has this salt."""
    fields = _TOMBSTONE.pack(_TOMBSTONE_MAGIC, salt, when_ns, erased_bytes)
    return fields + _CHECKSUM.pack(crc32c(fields))


def is_tombstone(start: bytes) -> bool:
    return start.startswith(_TOMBSTONE_MAGIC)


def check_tombstone(data: bytes, header: FileHeader, *, path: str) -> bytes:
    """`data`, if it is the whole tombstone of that log's audio. Raises Corrupt."""
    whole = len(data) == TOMBSTONE_SIZE and _CHECKSUM.unpack_from(data, _TOMBSTONE.size)[0] == crc32c(
        data[: _TOMBSTONE.size]
    )
    if not whole or _TOMBSTONE.unpack_from(data)[1] != header.salt:
        raise Corrupt(path, offset=0, seq=None, reason="not the tombstone of this log's audio")
    return data


def is_erased(fd: int) -> bool:
    """Does the file begin with a tombstone? Behind it nothing is to be read, even if something lies there."""
    return is_tombstone(os.pread(fd, START, 0))


def erased_at(path: str) -> bool:
    """As `is_erased`; not if there is no file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return is_erased(fd)
    finally:
        os.close(fd)


def end(path: str) -> int:
    """The first byte behind the file; behind every payload where they were erased or the file is gone."""
    try:
        size = os.stat(path).st_size
    except FileNotFoundError:
        return sys.maxsize
    return sys.maxsize if size == TOMBSTONE_SIZE and erased_at(path) else size
