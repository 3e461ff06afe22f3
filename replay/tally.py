"""Streams that know length and SHA-256 of what has gone through them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, BinaryIO

from msgspec import Struct

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer


Watch = Callable[[int], object]
"""Told of so many bytes more."""


class File(Struct, frozen=True):
    bytes: int
    sha256: str


class Tally:
    """Length and SHA-256 of what has gone by."""

    def __init__(self) -> None:
        self._bytes, self._sha256 = 0, hashlib.sha256()

    def add(self, piece: bytes | memoryview) -> None:
        self._bytes += len(piece)
        self._sha256.update(piece)

    @property
    def file(self) -> File:
        return File(self._bytes, self._sha256.hexdigest())


class Hashed(io.RawIOBase):
    """Reads a stream and knows the `file` of all that was read. `watch` is told of each piece."""

    def __init__(self, stream: BinaryIO, watch: Watch = lambda length: None) -> None:
        self._stream, self._tally, self._watch = stream, Tally(), watch

    @property
    def file(self) -> File:
        return self._tally.file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        piece = self._stream.read(len(view))
        view[: len(piece)] = piece
        self._tally.add(piece)
        self._watch(len(piece))
        return len(piece)


class Hashing(io.RawIOBase):
    """Writes into a stream and knows the `file` of all that was written."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._tally = stream, Tally()

    @property
    def file(self) -> File:
        return self._tally.file

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        view = memoryview(data)
        self._stream.write(view)
        self._tally.add(view)
        return len(view)
