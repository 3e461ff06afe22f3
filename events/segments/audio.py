"""The blob file of a life: a small header, then payloads end to end. Which is which, only the events know."""

from __future__ import annotations

import os
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
