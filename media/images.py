"""JPEG and PNG files by their first bytes: what they are and how many pixels they have. Nothing is decoded.

A file of a few kilobytes may unfold to gigabytes, so its size in pixels is read from its header and bounded.

BadImage
  NotAnImage        neither JPEG nor PNG, or its header is not whole
  TooManyPixels     more than MOST_PIXELS
"""

from __future__ import annotations

import struct
from typing import Literal

from msgspec import Struct

MOST_PIXELS = 16_000_000

MediaType = Literal["image/jpeg", "image/png"]

_JPEG, _PNG = b"\xff\xd8", b"\x89PNG"
_PNG_SIZE = 24
"""Bytes up to and including the size in a PNG's first chunk."""
_NO_FRAME = (0xC4, 0xC8, 0xCC)
"""Markers among C0 to CF that are not a frame's: Huffman tables, an extension, arithmetic coding."""
_STANDS_ALONE = (0x01, *range(0xD0, 0xD8))


class BadImage(ValueError):
    """Base of what an image can be refused for."""


class NotAnImage(BadImage):
    pass


class TooManyPixels(BadImage):
    pass


class Picture(Struct, frozen=True):
    media_type: MediaType
    width: int
    height: int


def examine(contents: bytes) -> Picture:
    """What the file is. Raises BadImage."""
    if contents.startswith(_JPEG):
        picture = Picture("image/jpeg", *_jpeg_size(contents))
    elif contents.startswith(_PNG) and len(contents) >= _PNG_SIZE and contents[12:16] == b"IHDR":
        picture = Picture("image/png", *struct.unpack_from(">II", contents, 16))
    else:
        raise NotAnImage("the file is neither a JPEG nor a PNG")
    if not 0 < picture.width * picture.height <= MOST_PIXELS:
        raise TooManyPixels(f"{picture.width} x {picture.height} pixels; at most {MOST_PIXELS} in all")
    return picture


def _jpeg_size(contents: bytes) -> tuple[int, int]:
    """Width and height, from the frame's header behind any number of other segments."""
    at = 2
    while at + 9 <= len(contents) and contents[at] == 0xFF:
        marker = contents[at + 1]
        if marker == 0xFF or marker in _STANDS_ALONE:  # padding, or a marker without a segment
            at += 1 if marker == 0xFF else 2
        elif 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME:
            height, width = struct.unpack_from(">HH", contents, at + 5)
            return width, height
        else:
            at += 2 + int(struct.unpack_from(">H", contents, at + 2)[0])
    raise NotAnImage("the JPEG has no frame")
