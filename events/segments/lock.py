"""The right to write one life of a session, and the writer epoch that goes with it.

The lock is flock(2) on the life's LOCK file. It ends with the process however that ends, and two openings
conflict even inside one process. fcntl's POSIX locks would do neither: they vanish when any descriptor of
the file is closed anywhere in the process (reading the epoch would do), and never conflict within it. What
flock has against it is that it belongs to the open file, which a forked child shares: after a fork the child
closes its copies (see SegmentLog), and an exec closes them by O_CLOEXEC.

The file also remembers the last writer epoch, because a writer may die before it has appended anything.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from ..errors import Locked
from ..ids import SessionId
from .files import Files, write_all

_LIMIT = 1024


class Writer(Struct, omit_defaults=True):
    """What a LOCK file says, in its first line: the last to have opened the life for writing."""

    writer_epoch: int = 0
    owner: str = "an unknown owner"
    pid: int = 0


class Lock:
    """Held from `take` until `drop`, or until this process is gone."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def take(cls, path: str, session: SessionId) -> Lock:
        """Raises Locked, naming the owner, when somebody else holds it."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        while not _try_lock(fd, fcntl.LOCK_EX):
            if not _try_lock(fd, fcntl.LOCK_SH):
                writer = _parse(os.pread(fd, _LIMIT, 0))
                os.close(fd)
                raise Locked(session, owner=f"{writer.owner} (pid {writer.pid})")
            # Nobody holds it; somebody looked whether anybody does (`is_held`), for two system calls.
            fcntl.flock(fd, fcntl.LOCK_UN)
        return cls(fd)

    def raise_epoch(self, owner: str, *, seen: int, files: Files) -> int:
        """A writer epoch above every earlier one: those of this file and `seen`, the last in the log."""
        epoch = max(_parse(os.pread(self._fd, _LIMIT, 0)).writer_epoch, seen) + 1
        self._write(Writer(epoch, owner[:128], os.getpid()), files)
        return epoch

    def remember(self, epoch: int, files: Files) -> None:
        """Of a life that was written elsewhere, up to this epoch."""
        self._write(Writer(epoch), files)

    def _write(self, writer: Writer, files: Files) -> None:
        os.lseek(self._fd, 0, os.SEEK_SET)
        write_all(files, self._fd, msgspec.json.encode(writer) + b"\n")

    def drop(self) -> None:
        """Unlock for every process that shares the open file, then forget it. Repeating is harmless."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            fcntl.flock(fd, fcntl.LOCK_UN)
            os.close(fd)

    def forget(self) -> None:
        """In a forked child: close without unlocking, which would unlock the parent."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


@contextlib.contextmanager
def locked(path: str, session: SessionId) -> Iterator[None]:
    """Raises Locked."""
    lock = Lock.take(path, session)
    try:
        yield
    finally:
        lock.drop()


def is_held(path: str) -> bool:
    """Does somebody hold the lock at this moment? Does not stand in the way of whoever takes it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


def last_epoch(path: str) -> int:
    """The epoch of the last to have opened a life for writing; 0 if nobody has."""
    try:
        with open(path, "rb") as file:
            return _parse(file.read(_LIMIT)).writer_epoch
    except FileNotFoundError:
        return 0


def _try_lock(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _parse(line: bytes) -> Writer:
    # One line shorter than a page is written whole or not at all, unless the power fails; then the log's
    # own last WriterOpened is what remains.
    try:
        return msgspec.json.decode(line.partition(b"\n")[0], type=Writer)
    except msgspec.MsgspecError:
        return Writer()
