"""How much room the disk has under the logs, and whether that is enough for another conversation.

A full disk ends the conversations that run on it. So new ones are refused while there is still room for the
running ones to end well.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path


def free_bytes(path: Path) -> int:
    """What a program without privileges may still write there. Raises OSError."""
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize


class Disk:
    """The disk under the data directory. Asking costs a system call; nothing is remembered."""

    def __init__(
        self, data: Path, min_free_bytes: int | None, free: Callable[[Path], int] = free_bytes
    ) -> None:
        self._data, self._free = data, free
        self.min_free_bytes = min_free_bytes

    def free_bytes(self) -> int | None:
        """None where the system does not say."""
        try:
            return self._free(self._data)
        except OSError:
            return None

    @property
    def is_low(self) -> bool:
        """Whether no further conversation should begin. What cannot be known is no reason to refuse."""
        free = self.free_bytes()
        return self.min_free_bytes is not None and free is not None and free < self.min_free_bytes
