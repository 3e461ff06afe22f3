"""How many sessions there are in all serving processes: one page of memory that they share.

Every process has a number and writes its own count there. Whether there is room for one more is decided
under a lock that the kernel takes back from whoever dies, so nobody need be asked, and nobody can be dead or
slow when it matters. Looked at when a session begins, comes back or ends, never for a frame.

The lock is fcntl's, which belongs to the process: flock's would be shared by all that inherited the page.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import time
from collections.abc import Iterator
from struct import Struct as Layout

_COUNT = Layout("<Q")
PATIENCE_S = 0.05
"""How long the lock is waited for: it is held for microseconds, unless its holder was stopped just then."""


class Places:
    """The page as one process sees it. `mine` is that process's number; the launcher has none."""

    def __init__(self, fd: int, workers: int, mine: int = 0) -> None:
        self._fd, self._workers, self._mine = fd, workers, mine
        self._page = mmap.mmap(fd, workers * _COUNT.size)

    @staticmethod
    def make(workers: int) -> int:
        """A descriptor of a page on which nobody has a session."""
        fd = os.memfd_create("antiphon-places")
        os.ftruncate(fd, workers * _COUNT.size)
        return fd

    @property
    def alone(self) -> bool:
        """Whether there is no other process."""
        return self._workers == 1

    @property
    def taken(self) -> int:
        """The sessions of all processes."""
        return sum(self._count(number) for number in range(self._workers))

    def take(self, limit: int | None) -> bool:
        """Count one more here, unless there are `limit` (None: whatever there are). Whether it was."""
        with self._locked() as locked:
            if limit is not None and (not locked or self.taken >= limit):
                return False
            self._set(self._mine, self._count(self._mine) + 1)
            return True

    def leave(self) -> None:
        """One less here."""
        self._set(self._mine, max(self._count(self._mine) - 1, 0))

    def clear(self, number: int) -> None:
        """That process is no more, and neither are its sessions."""
        self._set(number, 0)

    def _count(self, number: int) -> int:
        count: int = _COUNT.unpack_from(self._page, number * _COUNT.size)[0]
        return count

    def _set(self, number: int, count: int) -> None:
        _COUNT.pack_into(self._page, number * _COUNT.size, count)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[bool]:
        deadline = time.monotonic() + PATIENCE_S
        while not self._try_lock():
            if time.monotonic() > deadline:
                yield False
                return
            time.sleep(0.0005)
        try:
            yield True
        finally:
            fcntl.lockf(self._fd, fcntl.LOCK_UN)

    def _try_lock(self) -> bool:
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
