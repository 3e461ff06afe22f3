"""The LOCK file of a life: who opened it last for writing, and under which writer epoch.

A writer may die before it has appended anything; then this alone knows its epoch. It is written under the
life's lock (lock.py), and despite its name is not what is locked.
"""

from __future__ import annotations

import os

import msgspec
from msgspec import Struct

from .files import Files, write_all

_LIMIT = 1024


class Record(Struct, omit_defaults=True):
    """The first line of the file."""

    writer_epoch: int = 0
    owner: str = "an unknown owner"
    pid: int = 0


def read(path: str) -> Record:
    """Nobody's if there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return Record()
    try:
        return _parse(os.pread(fd, _LIMIT, 0))
    finally:
        os.close(fd)


def write(path: str, record: Record, files: Files) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        write_all(files, fd, msgspec.json.encode(record) + b"\n")
    finally:
        os.close(fd)


def _parse(line: bytes) -> Record:
    # One line shorter than a page is written whole or not at all, unless the power fails; then the log's
    # own last WriterOpened is what remains.
    try:
        return msgspec.json.decode(line.partition(b"\n")[0], type=Record)
    except msgspec.MsgspecError:
        return Record()
