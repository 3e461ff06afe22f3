"""How much two images look alike."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from antiphon.media.images import BadImage, TooManyPixels
from antiphon.media.similarity import similarity, thumbnail

from .images import jpeg, noise, png


def alike(one: bytes, other: bytes) -> float:
    return similarity(thumbnail(one), thumbnail(other))


def test_equal_images_are_wholly_alike_and_black_and_white_are_not_at_all() -> None:
    assert alike(jpeg(90), jpeg(90)) == 1.0
    assert alike(png(0), png(255)) == 0.0


@pytest.mark.parametrize(("level", "expected"), [(57, 0.9500), (58, 0.9483), (60, 0.9446)])
def test_plain_greys_differ_by_the_square_of_their_difference(level: int, expected: float) -> None:
    assert alike(png(0), png(level)) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("share", "expected"), [(0.05, 0.95), (0.0625, 0.9375)])
def test_a_part_of_the_image_counts_by_its_area(share: float, expected: float) -> None:
    pixels = np.zeros((640, 640, 3), np.uint8)
    pixels[: round(640 * share)] = 255
    assert alike(png(0, (640, 640)), _png(pixels)) == pytest.approx(expected, abs=0.005)


def test_the_aspect_does_not_matter_and_neither_do_modes() -> None:
    assert alike(png(100, (300, 10)), jpeg(100, (10, 300))) == pytest.approx(1.0, abs=1e-3)
    grey = _file(Image.new("L", (40, 40), 77), "JPEG")
    palette = _file(Image.new("P", (40, 40)), "PNG")
    assert thumbnail(grey).shape == thumbnail(palette).shape == (64, 64, 3)
    assert thumbnail(grey).mean() == pytest.approx(77, abs=1)


def test_a_jpeg_decoded_small_gives_nearly_the_thumbnail_of_the_whole() -> None:
    import io

    contents = noise(3)
    whole = Image.open(io.BytesIO(contents)).convert("RGB").resize((64, 64), Image.Resampling.BILINEAR)
    assert similarity(np.asarray(whole, np.float32), thumbnail(contents)) >= 0.999


@pytest.mark.parametrize("cut", [0.3, 0.6, 0.95])
def test_a_file_that_is_cut_short_is_no_image(cut: float) -> None:
    for contents in (noise(1), _png(np.random.default_rng(1).integers(0, 255, (64, 64, 3), dtype=np.uint8))):
        with pytest.raises(BadImage):
            thumbnail(contents[: int(len(contents) * cut)])


def test_what_would_unfold_to_more_pixels_than_there_may_be_is_not_unfolded() -> None:
    bomb = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", 50_000, 50_000, 8, 0, 0, 0, 0))
    bomb += _chunk(b"IDAT", zlib.compress(bytes(100_000))) + _chunk(b"IEND", b"")
    with pytest.raises(TooManyPixels):
        thumbnail(bomb)


@pytest.mark.parametrize("contents", [b"", b"GIF89a not here", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_image_is_refused(contents: bytes) -> None:
    with pytest.raises(BadImage):
        thumbnail(contents)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _png(pixels: np.ndarray) -> bytes:
    return _file(Image.fromarray(pixels, "RGB"), "PNG")


def _file(image: Image.Image, kind: str) -> bytes:
    import io

    file = io.BytesIO()
    image.save(file, kind)
    return file.getvalue()
