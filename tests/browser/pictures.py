"""Pictures of pages: the tests take them; with ANTIPHON_PICTURES=1 those in docs/images are made anew."""

from __future__ import annotations

import os
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

KEPT = Path(__file__).resolve().parents[2] / "docs" / "images"
COLOURS = 64
"""Of a picture that is kept: pages have few, and the file is small."""


def picture(page: Page, name: str, folder: Path) -> Path:
    """What is seen of a page now. Below `folder`, or where the documents have it."""
    taken = (KEPT if os.environ.get("ANTIPHON_PICTURES") else folder) / f"{name}.png"
    taken.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=taken, animations="disabled")
    with Image.open(taken) as image:
        small = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(taken, optimize=True)
    return taken
