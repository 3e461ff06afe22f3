"""The frames of a video as JPEG files, for the two examples beside this one.

A folder of images is read as it is, an animation (GIF, WebP) by Pillow, and any other video by the program
`ffmpeg`, which must be installed for that.
"""

import io
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from PIL import Image, ImageSequence

SUFFIXES = (".jpg", ".jpeg", ".png")


def frames(video: Path, per_second: float) -> Iterator[bytes]:
    """`per_second` of them, of a folder all."""
    if video.is_dir():
        for file in sorted(video.iterdir()):
            if file.suffix.lower() in SUFFIXES:
                yield file.read_bytes()
    elif video.suffix.lower() in (".gif", ".webp"):
        yield from _of_animation(video, per_second)
    else:
        yield from _by_ffmpeg(video, per_second)


def _of_animation(video: Path, per_second: float) -> Iterator[bytes]:
    due_ms = shown_ms = 0.0
    with Image.open(video) as animation:
        for frame in ImageSequence.Iterator(animation):
            shown_ms += frame.info.get("duration", 100)
            if shown_ms > due_ms:
                due_ms += 1000 / per_second
                file = io.BytesIO()
                frame.convert("RGB").save(file, "JPEG", quality=85)
                yield file.getvalue()


def _by_ffmpeg(video: Path, per_second: float) -> Iterator[bytes]:
    """JPEG files lie one behind the other in what it writes: each begins with FFD8 and ends with FFD9."""
    if shutil.which("ffmpeg") is None:
        raise SystemExit(
            f"reading {video} takes ffmpeg, which is not installed; a folder of images needs nothing"
        )
    command = ["ffmpeg", "-loglevel", "error", "-i", str(video), "-vf", f"fps={per_second}"]
    with subprocess.Popen(
        [*command, "-f", "image2pipe", "-c:v", "mjpeg", "-"], stdout=subprocess.PIPE
    ) as made:
        assert made.stdout is not None
        held = b""
        while piece := made.stdout.read(1 << 16):
            *whole, held = (held + piece).split(b"\xff\xd9")
            yield from (file + b"\xff\xd9" for file in whole)
