"""How much two images look alike, from thumbnails of them: what decides that a video frame shows nothing new.

A thumbnail is 64 x 64 pixels of RGB, by bilinear resizing that does not keep the aspect; a JPEG is decoded at
a fraction of its size for it. Two are alike by 1 minus their mean squared difference, over that of black and
white: 1 for equal ones. The measure is coarse: at 0.95 two plain images differ by 57 grey levels.
"""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from .images import MOST_PIXELS, BadImage, TooManyPixels, examine

SIDE = 64
FULL_SCALE = 255.0
FORMATS = ("JPEG", "PNG")

Thumbnail = NDArray[np.float32]


def thumbnail(contents: bytes) -> Thumbnail:
    """Of a JPEG or PNG file, shape (64, 64, 3), values 0 to 255. Raises BadImage, also where it is cut."""
    examine(contents)
    try:
        with Image.open(io.BytesIO(contents), formats=FORMATS) as image:
            if image.width * image.height > MOST_PIXELS:
                raise TooManyPixels(f"{image.width} x {image.height} pixels")
            image.draft("RGB", (SIDE, SIDE))
            small = image.convert("RGB") if image.mode not in ("RGB", "L") else image
            small = small.resize((SIDE, SIDE), Image.Resampling.BILINEAR).convert("RGB")
    except BadImage:
        raise
    except Exception as error:  # a decoder of files that strangers made fails in any way
        raise BadImage("the image cannot be decoded") from error
    return np.asarray(small, dtype=np.float32)


def similarity(one: Thumbnail, other: Thumbnail) -> float:
    """From 0 to 1."""
    difference = one - other
    return 1.0 - float(np.mean(difference * difference)) / FULL_SCALE**2
