import struct

import pytest

from antiphon.media.images import MOST_PIXELS, BadImage, NotAnImage, Picture, TooManyPixels, examine


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)


def jpeg(width: int, height: int, *, before: bytes = b"\xff\xe0\x00\x04ab", frame: int = 0xC0) -> bytes:
    return b"\xff\xd8" + before + struct.pack(">BBHBHHB", 0xFF, frame, 11, 8, height, width, 1) + b"\0" * 8


def test_a_png_says_its_size():
    assert examine(png(640, 480)) == Picture("image/png", 640, 480)


@pytest.mark.parametrize(
    "before",
    [
        b"",
        b"\xff\xe0\x00\x04ab",
        b"\xff\xff\xff\xe1\x00\x02",  # padding before a marker
        b"\xff\x01\xff\xc4\x00\x03x",  # a marker alone, then tables
    ],
)
@pytest.mark.parametrize("frame", [0xC0, 0xC2])
def test_a_jpeg_says_its_size_wherever_it_stands(before, frame):
    assert examine(jpeg(320, 240, before=before, frame=frame)) == Picture("image/jpeg", 320, 240)


@pytest.mark.parametrize(
    "contents",
    [b"", b"GIF89a" + bytes(40), b"\x89PNG", png(1, 1)[:20], jpeg(9, 9)[:14], b"\xff\xd8" + bytes(99)],
)
def test_what_is_no_image_or_not_whole_is_refused(contents):
    with pytest.raises(NotAnImage):
        examine(contents)


def test_an_image_that_would_unfold_to_gigabytes_is_refused():
    assert examine(png(4_000, MOST_PIXELS // 4_000)).height == MOST_PIXELS // 4_000
    for contents in (png(100_000, 100_000), jpeg(65_535, 65_535), png(0, 10)):
        with pytest.raises(TooManyPixels):
            examine(contents)


def test_cut_anywhere_it_is_refused_and_nothing_else_happens():
    whole = jpeg(320, 240)
    for end in range(len(whole) - 8):
        try:
            examine(whole[:end])
        except BadImage:
            continue
