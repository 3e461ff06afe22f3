"""WebSocket frames by their headers (RFC 6455, 5.2): enough to tell one whole text frame from all else.

The bytes of a frame are read by websockets' generators in seven steps; nearly every frame is a whole,
unfragmented text that came in one piece, and is known by its first bytes.
"""

from __future__ import annotations

from struct import Struct as Layout

from websockets.frames import apply_mask  # type: ignore[attr-defined]  # its own, or the C one if there is

_TEXT = 0x81  # the last fragment of a text, which is also the first
_BINARY = 0x82
_MASKED = 0x80
_MASK = 4
_SHORT, _LONG = Layout(">BBH"), Layout(">BBQ")


class Boundary:
    """Follows what a client sends, chunk by chunk: does a frame end where the last chunk ended?"""

    __slots__ = ("_head", "_owed")

    def __init__(self) -> None:
        self._head = b""
        """The beginning of a header that is not whole yet: at most 9 bytes."""
        self._owed = 0
        """Bytes of the present frame that are still to come."""

    @property
    def is_here(self) -> bool:
        return not self._owed and not self._head

    def is_one(self, chunk: bytes) -> bool:
        """Whether no frame begins in the next chunk, but at its beginning."""
        if self._head:
            return False
        return (self._owed or _size_of(chunk, 0)) >= len(chunk)

    def pass_over(self, chunk: bytes) -> None:
        chunk, at = self._head + chunk, self._owed
        while at < len(chunk) and (size := _size_of(chunk, at)):
            at += size
        self._head = chunk[at:]
        self._owed = max(at - len(chunk), 0)


def _size_of(chunk: bytes, at: int) -> int:
    """Bytes of the client's frame that begins at `at`, header and all; 0 if the chunk does not say."""
    have = len(chunk) - at
    if have < 2:
        return 0
    short = chunk[at + 1] & 127
    if short < 126:
        return 2 + _MASK + short
    layout = _SHORT if short == 126 else _LONG
    if have < layout.size:
        return 0
    size: int = layout.size + _MASK + layout.unpack_from(chunk, at)[2]
    return size


def whole_text(chunk: bytes) -> str | None:
    """The text, if the chunk is exactly one masked text frame and sound; None for anything else."""
    if len(chunk) < 2 + _MASK or chunk[0] != _TEXT or not chunk[1] & _MASKED:
        return None
    size = _size_of(chunk, 0)
    if size != len(chunk):
        return None
    short = chunk[1] & 127
    start = _MASK + (2 if short < 126 else _SHORT.size if short == 126 else _LONG.size)
    try:
        return str(apply_mask(chunk[start:], chunk[start - _MASK : start]), "utf-8")
    except UnicodeDecodeError:
        return None


def server_frame(payload: bytes, *, binary: bool = False) -> bytes:
    """The server's frame that carries a text, or bytes."""
    size, kind = len(payload), _BINARY if binary else _TEXT
    if size < 126:
        return bytes((kind, size)) + payload
    return (_SHORT.pack(kind, 126, size) if size < 1 << 16 else _LONG.pack(kind, 127, size)) + payload
