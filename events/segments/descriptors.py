"""The open blob files of a store's writers: a bounded number, kept for those that write blobs often.

A live session holds one descriptor, of its events file, which is its lock as well. Its blob file is opened
when there is a blob to write, and stays open while there is room. When there is none, most newcomers are
turned away and open their file for the one write. Sessions speak in turn, and if each took the place of
another then none would ever find its file open; this way those that have a place keep it. So that places do
not stay with sessions that have fallen silent, every fourth newcomer moves a clock hand on by one place, and
gets that place if its holder was not used since the hand last passed. The hand passes over writers with
batches under way: the writer thread may be about to write to their descriptors, and a number that has been
closed may name another session's file by then.

Two places are kept back: one for a session that is being opened, one for a write without a place. Everything
here but `BlobFile.open` and `opened` belongs to the thread that owns the store.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from collections.abc import Iterator, Sized

from .lock import WRITING

LIMIT = 256
"""Descriptors of blob files that one store keeps open; those that are locks are not counted."""

_STEP = 4
"""Newcomers to one step of the hand. It must go round slowly beside the turn of the sessions: with 1, a
thousand of them in turn find next to none of their files open, with 4 as many as there are places."""


class Descriptors:
    """The places of one store."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._places = max(1, limit - 2)
        self._ring: list[BlobFile] = []
        self._hand = self._refused = 0

    def admit(self, newcomer: BlobFile) -> bool:
        """Give `newcomer` a place if there is one, or if the one at the hand can do without."""
        ring = self._ring
        if len(ring) < self._places:
            ring.append(newcomer)
            return True
        self._refused += 1
        if self._refused % _STEP:
            return False
        place, self._hand = self._hand, (self._hand + 1) % len(ring)
        holder = ring[place]
        if holder.used or holder.waiting:
            holder.used = False
            return False
        holder.shut()
        ring[place] = newcomer
        return True

    def remove(self, file: BlobFile) -> None:
        if file in self._ring:
            place = self._ring.index(file)
            del self._ring[place]
            self._hand -= place < self._hand
            self._hand %= max(1, len(self._ring))


class BlobFile:
    """The blob file of a life that is being written.

    `fd` is negative while it is closed. `used` is set by `use` and cleared by the clock hand: while it is
    set, there is no need to call `use` again. `waiting` is not empty while a write is under way.
    """

    __slots__ = ("_descriptors", "_inode", "_path", "fd", "used", "waiting")

    def __init__(self, path: str, fd: int, descriptors: Descriptors) -> None:
        self._path, self._inode, self._descriptors = path, _inode(fd), descriptors
        self.waiting: Sized = ()
        self.fd = fd
        self.used = descriptors.admit(self)
        if not self.used:
            self.shut()

    def use(self) -> None:
        """Have the file open if there is a place for it. If it cannot be opened, the write says so."""
        if self.fd < 0 and self._descriptors.admit(self):
            try:
                self.fd = self.open()
            except OSError:
                self._descriptors.remove(self)
        self.used = self.fd >= 0

    def open(self) -> int:
        """A descriptor for the caller to close. Never makes a file, and takes no other for it.

        In any thread. Raises OSError.
        """
        fd = os.open(self._path, WRITING)
        if _inode(fd) != self._inode:
            os.close(fd)
            raise OSError(errno.ESTALE, f"{self._path} is another file than before")
        return fd

    @contextlib.contextmanager
    def opened(self) -> Iterator[int]:
        """The file, opened for this purpose unless it is open. In any thread. Raises OSError."""
        if (fd := self.fd) >= 0:
            yield fd
            return
        fd = self.open()
        try:
            yield fd
        finally:
            os.close(fd)

    def shut(self) -> None:
        """Close the file, and keep or lose the place as the caller decides."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def close(self) -> None:
        """Close the file for good."""
        self._descriptors.remove(self)
        self.shut()


def raise_descriptor_limit() -> tuple[int, int]:
    """Let this process open as many files as it may. The limit before and now; the same if it may not."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return before, resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _inode(fd: int) -> tuple[int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino
