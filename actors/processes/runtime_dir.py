"""The private directory where the sockets of one running server lie.

It is locked as long as any process of the server lives (they inherit the lock), so a directory whose lock is
free belongs to nobody and is removed by the next launcher.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "antiphon-"
_LOCK = "lock"
_LONGEST = 64
"""Bytes of the parent directory: a Unix socket's path may have 107, and ours adds names."""


class RuntimeDir:
    """Made on entry, mode 0700; removed by `remove`."""

    def __init__(self, parent: Path | None = None) -> None:
        parent = parent or usual_parent()
        _remove_stale(parent)
        # Locked before it has the name by which others would take it for stale.
        fresh = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}", dir=parent))
        self._lock = os.open(fresh / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.path = fresh.with_name(fresh.name[1:])
        fresh.rename(self.path)

    def socket(self, stage: str) -> Path:
        return self.path / f"{stage}.sock"

    def pulse(self, stage: str) -> Path:
        """The pipe on which a stage shows that it is alive."""
        return self.path / f"{stage}.pulse"

    def control_socket(self, worker: int, pid: int) -> Path:
        """Of a serving process, which makes it itself."""
        return control_socket(self.path, worker, pid)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def control_socket(directory: Path, worker: int, pid: int) -> Path:
    return directory / f"serving-{worker}-{pid}.sock"


def usual_parent() -> Path:
    """Below XDG_RUNTIME_DIR where that can be used, else below /tmp."""
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    if given and len(os.fsencode(given)) <= _LONGEST and os.access(given, os.W_OK):
        return Path(given)
    return Path("/tmp")


def _remove_stale(parent: Path) -> None:
    for found in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            status = found.lstat()
            if found.is_symlink() or not found.is_dir() or status.st_uid != os.geteuid():
                continue
            lock = os.open(found / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(found, ignore_errors=True)
            finally:
                os.close(lock)
