"""A disk that is full for a while: a tmpfs of our own, made as small as what is on it."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

SPARE_PAGES = (8, 64, 512, 4096)


class SmallDisk:
    """Mounted on `path`. Needs the right to mount (root, mostly)."""

    def __init__(self, path: Path, most_bytes: int) -> None:
        self._path, self._most_bytes = path, most_bytes

    def fill(self) -> None:
        """From now on writes fail with ENOSPC, but for a few pages."""
        for spare in SPARE_PAGES:
            found = os.statvfs(self._path)
            try:
                self._resize((found.f_blocks - found.f_bfree + spare) * found.f_frsize)
                return
            except subprocess.CalledProcessError:
                continue  # more was written meanwhile than there was to spare
        raise OSError(f"the disk at {self._path} cannot be filled")

    def relieve(self) -> None:
        self._resize(self._most_bytes)

    def _resize(self, size: int) -> None:
        _run("mount", "-o", f"remount,size={size}", str(self._path))


@contextlib.contextmanager
def small_disk(path: Path, most_bytes: int) -> Iterator[SmallDisk | None]:
    """None where this user may not mount: `path` is an ordinary folder then."""
    path.mkdir()
    try:
        _run("mount", "-t", "tmpfs", "-o", f"size={most_bytes},mode=0700", "antiphon-chaos", str(path))
    except (OSError, subprocess.CalledProcessError):
        yield None
        return
    try:
        yield SmallDisk(path, most_bytes)
    finally:
        _run("umount", str(path))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=10)
