"""Image files for tests, made here."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from PIL import Image


def jpeg(level: int = 0, size: tuple[int, int] = (64, 48), **options: Any) -> bytes:
    """Plain grey."""
    return _file(Image.new("L", size, level).convert("RGB"), "JPEG", **options)


def png(level: int = 0, size: tuple[int, int] = (64, 48)) -> bytes:
    return _file(Image.new("RGB", size, (level,) * 3), "PNG")


def noise(seed: int, size: tuple[int, int] = (1280, 720), quality: int = 80) -> bytes:
    """A JPEG of soft shapes that no two seeds share."""
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 256, (9, 16, 3), dtype=np.uint8), "RGB")
    return _file(small.resize(size, Image.Resampling.BICUBIC), "JPEG", quality=quality)


def encoded(contents: bytes) -> str:
    return base64.b64encode(contents).decode()


def _file(image: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()
