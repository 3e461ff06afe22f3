"""The right to write one life of a session, and the writer epoch that goes with it.

The lock is flock(2) on the life's events file, so that the one descriptor a live session keeps for its lock
is the one it appends to. It ends with the process however that ends, and two openings conflict even inside
one process. fcntl's POSIX locks would do neither: they vanish when any descriptor of the file is closed
anywhere in the process (every reader would do), and never conflict within it. What flock has against it is
that it belongs to the open file, which a forked child shares: after a fork the child closes its copies (see
SegmentLog), and an exec closes them by O_CLOEXEC.

An erasure removes the file and a salvage puts another in its place while they hold its lock. Whoever has got
a lock therefore looks whether it is that of the file which is there now.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

from ..errors import Locked, NoSuchSession
from . import record
from .files import Files
from .layout import Life
from .record import Record

WRITING = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC


class Lock:
    """Held from `take` until `drop`, or until this process is gone.

    `events` is the descriptor of the events file, for appending; of a sealed file, which is read-only, it
    may be good for nothing but the lock.
    """

    __slots__ = ("_record", "events")

    def __init__(self, events: int, record: str) -> None:
        self.events, self._record = events, record

    @classmethod
    def take(cls, life: Life, *, create: bool = False) -> Lock:
        """Raises Locked, naming the owner, when somebody else holds it.

        Raises NoSuchSession when the file is not there, or with `create` the directory.
        """
        while True:
            fd = _open(life, create)
            try:
                _lock(fd, life)
                if _is_at(life.events, fd):
                    return cls(fd, life.record)
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)

    def raise_epoch(self, owner: str, *, seen: int, files: Files) -> int:
        """A writer epoch above every earlier one: those of the LOCK file and `seen`, the last in the log."""
        epoch = max(record.read(self._record).writer_epoch, seen) + 1
        record.write(self._record, Record(epoch, owner[:128], os.getpid()), files)
        return epoch

    def remember(self, epoch: int, files: Files) -> None:
        """Of a life that was written elsewhere, up to this epoch."""
        record.write(self._record, Record(epoch), files)

    def drop(self) -> None:
        """Unlock for every process that shares the open file, then close it. Repeating is harmless."""
        fd, self.events = self.events, -1
        if fd >= 0:
            fcntl.flock(fd, fcntl.LOCK_UN)
            os.close(fd)

    def forget(self) -> None:
        """In a forked child: close without unlocking, which would unlock the parent."""
        fd, self.events = self.events, -1
        if fd >= 0:
            os.close(fd)


@contextlib.contextmanager
def locked(life: Life) -> Iterator[None]:
    """Raises Locked, NoSuchSession."""
    lock = Lock.take(life)
    try:
        yield
    finally:
        lock.drop()


def is_held(life: Life) -> bool:
    """Does somebody hold the lock at this moment? Does not stand in the way of whoever takes it."""
    try:
        fd = os.open(life.events, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


def _open(life: Life, create: bool) -> int:
    # Where a file is to be made a link would lead nowhere, again and again.
    making = os.O_CREAT | os.O_NOFOLLOW if create else 0
    try:
        try:
            return os.open(life.events, WRITING | making, 0o600)
        except PermissionError:  # sealed; who locks it then will not append to it
            return os.open(life.events, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NoSuchSession(life.session) from None


def _lock(fd: int, life: Life) -> None:
    while not _try_lock(fd, fcntl.LOCK_EX):
        if not _try_lock(fd, fcntl.LOCK_SH):
            holder = record.read(life.record)
            raise Locked(life.session, owner=f"{holder.owner} (pid {holder.pid})")
        # Nobody holds it; somebody looked whether anybody does (`is_held`), for two system calls.
        fcntl.flock(fd, fcntl.LOCK_UN)


def _try_lock(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(path: str, fd: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(fd))
    except FileNotFoundError:
        return False
