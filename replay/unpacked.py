"""The content of an archive's member, unpacked piece by piece and never further than the archive says."""

from __future__ import annotations

import io
import zlib
from struct import error as TooShort  # noqa: N812  # that is what it means here
from typing import IO, TYPE_CHECKING

from .archive import DEFLATED, Member, read_exactly
from .errors import UnsafeArchive

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PIECE = 1 << 16


class Unpacked(io.RawIOBase):
    """A stream. Raises UnsafeArchive where the content is not what the archive says it is.

    Several may read one file in turns. The checksum is known to be right when the end has been read.
    """

    def __init__(self, file: IO[bytes], member: Member) -> None:
        self._file, self._member = file, member
        self._at, self._end = member.start, member.start + member.packed
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS) if member.method == DEFLATED else None
        self._left, self._crc32 = member.size, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        wanted = min(len(view), PIECE)
        piece = self._next(min(wanted, self._left)) if wanted else b""
        view[: len(piece)] = piece
        self._left -= len(piece)
        self._crc32 = zlib.crc32(piece, self._crc32)
        if wanted and not self._left:
            self._check_end()
        return len(piece)

    def _next(self, wanted: int) -> bytes:
        """Up to `wanted` bytes; none only where none are wanted."""
        if self._inflate is None or not wanted:
            return self._packed(wanted)
        piece = b""
        while not piece:
            if self._inflate.eof:
                raise UnsafeArchive(f"{self._member.name} is shorter than the archive says")
            piece = self._inflated(wanted)
        return piece

    def _inflated(self, most: int) -> bytes:
        assert self._inflate is not None, "only deflated members are inflated"
        packed = self._inflate.unconsumed_tail or self._packed(PIECE)
        if not packed:
            raise UnsafeArchive(f"{self._member.name} ends before its content does")
        try:
            return self._inflate.decompress(packed, most)
        except zlib.error as error:
            raise UnsafeArchive(f"{self._member.name} cannot be unpacked") from error

    def _packed(self, most: int) -> bytes:
        length = min(most, self._end - self._at)
        try:
            piece = read_exactly(self._file, self._at, length)
        except TooShort as error:
            raise UnsafeArchive("it ends in the middle of itself") from error
        self._at += length
        return piece

    def _check_end(self) -> None:
        inflate = self._inflate
        if inflate is not None:
            while not inflate.eof:  # its last bytes may say no more than that this is the end
                if self._inflated(1):
                    raise UnsafeArchive(f"{self._member.name} is longer than the archive says")
            if inflate.unused_data or self._at != self._end:
                raise UnsafeArchive(f"{self._member.name} is longer than the archive says")
        if self._crc32 != self._member.crc32:
            raise UnsafeArchive(f"{self._member.name} does not have the archive's checksum")
