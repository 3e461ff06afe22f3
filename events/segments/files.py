"""The system calls a writer makes: a seam, so that tests can fill disks, break them and slow them down."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..errors import LogError, OutcomeUnknown, StoreFull

_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class Files:
    """`clock` counts seconds and times the writes."""

    write: Callable[[int, bytes | memoryview], int] = os.write
    truncate: Callable[[int, int], None] = os.ftruncate
    sync: Callable[[int], None] = os.fdatasync
    clock: Callable[[], float] = time.monotonic


def write_all(files: Files, fd: int, data: bytes) -> None:
    write_rest(files, fd, data, files.write(fd, data))


def write_rest(files: Files, fd: int, data: bytes, written: int) -> None:
    """One write(2) writes all. Only a nearly full disk makes it more, and the next one then says so."""
    while written < len(data):
        written += files.write(fd, memoryview(data)[written:])


@contextlib.contextmanager
def full_disk(what: str) -> Iterator[None]:
    """Turn a full disk into StoreFull; other failures pass as they are."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StoreFull(f"{what}: {error.strerror}") from error
        raise


def as_log_error(error: OSError, what: str) -> LogError:
    if error.errno in _FULL:
        return StoreFull(f"{what}: {error.strerror}")
    return OutcomeUnknown(f"{what}: {error.strerror}")
