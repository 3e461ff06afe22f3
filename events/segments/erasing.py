"""Erasing a life: its audio, or all of it.

Audio goes in one step, when the tombstone takes the blob file's place: before it the log is readable, after
it is erased, and it verifies both times. A whole life goes when its events file does; the mark that keeps its
number taken is there before.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time

from ..errors import Corrupt, NoSuchSession, NotALog, Sealed
from ..ids import SessionId
from ..store import Expect, Scope
from . import audio
from .descriptors import Descriptors
from .files import Files, write_all
from .layout import Layout, Life, sync_directory
from .lock import Lock
from .opening import is_sealed, open_files


def erase(layout: Layout, session: SessionId, scope: Scope, incarnation: int | None, files: Files) -> None:
    """Raises Locked, before anything was erased; NoSuchSession; OSError."""
    lives, erased = layout.lives(session), layout.erased(session)
    if incarnation is not None:
        lives = [life for life in lives if life.incarnation == incarnation]
        erased = [number for number in erased if number == incarnation]
    if not lives and not erased:
        raise NoSuchSession(session)
    for life in reversed(lives):  # only the youngest can have a writer
        # A damaged log cannot be sealed, but what it holds can go.
        with contextlib.suppress(Corrupt, NotALog):
            _seal(life, files)
        lock = Lock.take(life.lock, session)
        try:
            if scope is Scope.AUDIO:
                erase_audio(life, files)
            else:
                _erase_all(life)
        finally:
            lock.drop()


def _seal(life: Life, files: Files) -> None:
    """Whoever follows it is told that it has ended, and nobody can resume it."""
    if is_sealed(life):
        return
    lock = Lock.take(life.lock, life.session)
    try:
        writer = open_files(life, lock, Expect.RESUME, "an erasure", files, Descriptors())
    except Sealed:
        lock.drop()
        return
    except BaseException:
        lock.drop()
        raise
    writer.seal("erased")


def erase_audio(life: Life, files: Files) -> None:
    """Put the tombstone in place of the blob file. Under the life's lock; repeating is harmless."""
    salt, size = _salt(life), 0
    with contextlib.suppress(FileNotFoundError):
        fd = os.open(life.audio, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if audio.is_erased(fd):
                return
            size = os.fstat(fd).st_size
            salt = salt or os.pread(fd, audio.START, 0)[-len(_NO_SALT) :]
        finally:
            os.close(fd)
    stone = audio.tombstone(salt or _NO_SALT, when_ns=time.time_ns(), erased_bytes=max(0, size - audio.START))
    fresh = f"{life.audio}.erased"
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        write_all(files, fd, stone)
        files.sync(fd)
    finally:
        os.close(fd)
    os.replace(fresh, life.audio)
    sync_directory(life.directory)


_NO_SALT = bytes(16)


def _salt(life: Life) -> bytes | None:
    """The log's own, which is made durable first: a seal lost behind a tombstone would be damage."""
    fd = os.open(life.events, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fdatasync(fd)
        return life.header(fd).salt
    except NotALog:
        return None
    finally:
        os.close(fd)


def _erase_all(life: Life) -> None:
    session = os.path.dirname(life.directory)
    os.close(os.open(life.erased, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    sync_directory(session)
    os.unlink(life.events)
    # The lock goes too: who waits for it finds the mark (opening.py).
    shutil.rmtree(life.directory)
    sync_directory(session)
