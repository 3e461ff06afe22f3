"""Erasing a life: its audio, or all of it.

Audio goes in one step, when the tombstone is written over the beginning of the blob file: before it the log
is readable, after it it is erased, and it verifies both times. What lies behind the tombstone is cut off.
That needs no room, because a full disk is a reason to erase. Then the log is sealed: nobody can write a life
whose audio is gone (opening.py), and who follows it is told so. A whole life goes when its events file does;
the mark that keeps its number taken is there before.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time

from ..errors import Corrupt, NoSuchSession, NotALog, Sealed, StoreFull
from ..ids import SessionId
from ..store import Expect, Scope
from . import audio, derived
from .descriptors import Descriptors
from .files import Files, full_disk
from .layout import Layout, Life, sync_directory
from .lock import Lock, locked
from .opening import open_files
from .reader import Reader

_NO_SALT = bytes(16)


def erase(layout: Layout, session: SessionId, scope: Scope, incarnation: int | None, files: Files) -> None:
    """Raises Locked, before anything was erased; NoSuchSession; OSError."""
    lives, erased = layout.lives(session), layout.erased(session)
    if incarnation is not None:
        lives = [life for life in lives if life.incarnation == incarnation]
        erased = [number for number in erased if number == incarnation]
    if not lives and not erased:
        raise NoSuchSession(session)
    for life in reversed(lives):  # only the youngest can have a writer
        with locked(life):
            erase_audio(life, files)
        if scope is Scope.AUDIO:
            _seal(life, files)
            continue
        with contextlib.suppress(StoreFull):
            _seal(life, files)
        with locked(life):
            _erase_events(life)


def _seal(life: Life, files: Files) -> None:
    """A damaged log cannot be sealed, and stays as it is. Raises StoreFull."""
    with contextlib.suppress(Corrupt, NotALog), full_disk(f"erasing session {life.session}"):
        with Reader(life) as reader:
            if reader.head()[1]:
                return
        # Read-only, if it has lost its seal; nobody takes it for a life to be written, with its audio gone.
        os.chmod(life.events, 0o600)
        lock = Lock.take(life)
        try:
            writer = open_files(life, lock, Expect.RESUME, "an erasure", files, Descriptors())
        except BaseException as error:
            lock.drop()
            if isinstance(error, Sealed):  # meanwhile
                return
            raise
        try:
            footer = writer.take_seal("erased")
            writer.settle(footer, writer.write(footer))
        finally:
            writer.close()
        footer.acked.result()
        os.chmod(life.events, 0o400)
        derived.forget(life)


def erase_audio(life: Life, files: Files) -> None:
    """Put the tombstone in place of all payloads, for good. Under the life's lock; repeating is harmless."""
    for folder in life.damaged():
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{folder}/audio.blob")
            sync_directory(folder)
    salt = _salt(life, files)
    fd = os.open(life.audio, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not audio.is_erased(fd):
            own_salt = os.pread(fd, audio.START, 0)[-len(_NO_SALT) :].ljust(len(_NO_SALT), b"\0")
            erased_bytes = max(0, os.fstat(fd).st_size - audio.START)
            stone = audio.tombstone(salt or own_salt, when_ns=time.time_ns(), erased_bytes=erased_bytes)
            os.pwrite(fd, stone, 0)  # in one call: the file begins with all of it or none
        files.truncate(fd, audio.TOMBSTONE_SIZE)
        files.sync(fd)
    finally:
        os.close(fd)


def _salt(life: Life, files: Files) -> bytes | None:
    """The log's own, which is made durable first: a seal lost behind a tombstone would be damage."""
    fd = os.open(life.events, os.O_RDONLY | os.O_CLOEXEC)
    try:
        files.sync(fd)
        return life.header(fd).salt
    except NotALog:
        return None
    finally:
        os.close(fd)


def _erase_events(life: Life) -> None:
    session = os.path.dirname(life.directory)
    os.close(os.open(life.erased, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    sync_directory(session)
    os.unlink(life.events)
    # Its lock is worth nothing from here on: who gets it sees that the file is not there (lock.py).
    shutil.rmtree(life.directory)
    sync_directory(session)
