"""The open files of a store's writers: a bounded number, kept for those that were used lately.

A live session holds one descriptor for its lock. Its two files are opened when they are needed and stay open
while there is room. When there is none, a clock hand goes round and closes the files of the first writer that
was not used since it last passed. It passes over writers with batches under way: the writer thread may be
about to write to their descriptors, and a number that has been closed may name another session's file by
then. If all are such, a writer gets no place, and its files are opened for each write alone.

Two pairs are kept back: one for a session that is being opened, one for the writer thread. Everything here
but `Handle.opened` belongs to the thread that owns the store.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from collections.abc import Iterator, Sized

from .layout import Life

LIMIT = 256
"""Descriptors of events and blob files that one store keeps open; locks are not counted."""

WRITING = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC

Pair = tuple[int, int]
"""Descriptors of the events file and of the blob file."""


class Descriptors:
    """The places of one store."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._places = max(1, limit // 2 - 2)
        self._ring: list[Handle] = []
        self._hand = 0

    def admit(self, newcomer: Handle) -> bool:
        """Give `newcomer` a place, if need be that of the first one that can do without."""
        ring = self._ring
        if len(ring) < self._places:
            ring.append(newcomer)
            return True
        for _ in range(2 * len(ring)):
            place, self._hand = self._hand, (self._hand + 1) % len(ring)
            handle = ring[place]
            if handle.waiting:
                continue
            if handle.used:
                handle.used = False
                continue
            handle.shut()
            ring[place] = newcomer
            return True
        return False

    def remove(self, handle: Handle) -> None:
        if handle in self._ring:
            place = self._ring.index(handle)
            del self._ring[place]
            self._hand -= place < self._hand
            self._hand %= max(1, len(self._ring))


class Handle:
    """The two files of a life that is being written.

    `pair` is None while they are closed. `used` is set by `use` and cleared by the clock hand: while it is
    set, there is no need to call `use` again. `waiting` is not empty while a write is under way.
    """

    __slots__ = ("_descriptors", "_inodes", "_life", "pair", "used", "waiting")

    def __init__(self, life: Life, pair: Pair, descriptors: Descriptors) -> None:
        self._life, self._inodes, self._descriptors = life, _inodes(pair), descriptors
        self.waiting: Sized = ()
        self.pair: Pair | None = pair
        self.used = True
        if not descriptors.admit(self):
            self.used = False
            self.shut()

    def use(self) -> None:
        """Have the files open if there is a place for them. If they cannot be opened, the write says so."""
        if self.pair is None:
            with contextlib.suppress(OSError):
                pair = self._open()
                if self._descriptors.admit(self):
                    self.pair = pair
                else:
                    close_pair(pair)
        self.used = self.pair is not None

    @contextlib.contextmanager
    def opened(self) -> Iterator[Pair]:
        """The files, opened for this purpose unless they are open. In any thread. Raises OSError."""
        pair = self.pair
        if pair is not None:
            yield pair
            return
        pair = self._open()
        try:
            yield pair
        finally:
            close_pair(pair)

    def shut(self) -> None:
        """Close the files, and keep or lose the place as the caller decides."""
        if (pair := self.pair) is not None:
            self.pair = None
            close_pair(pair)

    def close(self) -> None:
        """Close the files for good."""
        self._descriptors.remove(self)
        self.shut()

    def _open(self) -> Pair:
        """Never makes a file, and takes no other for it."""
        pair = open_pair(self._life)
        if _inodes(pair) != self._inodes:
            close_pair(pair)
            raise OSError(errno.ESTALE, f"{self._life.directory} holds other files than before")
        return pair


def open_pair(life: Life, *, create: bool = False) -> Pair:
    """Both files, for appending. Raises FileNotFoundError, unless told to create them."""
    flags = WRITING | (os.O_CREAT if create else 0)
    blobs = os.open(life.audio, flags, 0o600)
    try:
        return os.open(life.events, flags, 0o600), blobs
    except BaseException:
        os.close(blobs)
        raise


def raise_descriptor_limit() -> tuple[int, int]:
    """Let this process open as many files as it may. The limit before and now; the same if it may not."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return before, resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _inodes(pair: Pair) -> tuple[tuple[int, int], ...]:
    return tuple((found.st_dev, found.st_ino) for found in map(os.fstat, pair))


def close_pair(pair: Pair) -> None:
    for fd in pair:
        os.close(fd)
