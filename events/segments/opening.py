"""Becoming the only writer of a session: which life, its lock, its files, its next writer epoch."""

from __future__ import annotations

import os
import secrets
import stat
import time

from ..errors import Corrupt, NoSuchSession, Sealed, WrongSequence
from ..ids import SessionId
from ..store import Expect, Lease
from . import audio
from .descriptors import BlobFile, Descriptors
from .files import Files, write_all
from .frame import FileHeader, encode_header
from .layout import Layout, Life
from .lock import WRITING, Lock
from .reader import Reader
from .recovery import recover
from .writer import Writer


def open_writer(
    layout: Layout,
    session: SessionId,
    *,
    expect: Expect,
    owner: str,
    files: Files,
    descriptors: Descriptors,
) -> Writer:
    """Raises what Log.open raises, and OSError."""
    while True:
        life, begins = _to_open(layout, session, expect)
        if begins:
            os.makedirs(life.directory, mode=0o700, exist_ok=True)
        try:
            lock = Lock.take(life, create=begins)
        except NoSuchSession:  # erased since it was found
            continue
        try:
            # Asked again under the lock: the life may have begun, or ended, since it was found.
            if _to_open(layout, session, expect) == (life, begins):
                return open_files(life, lock, expect, owner, files, descriptors)
        except BaseException:
            lock.drop()
            raise
        lock.drop()


def _to_open(layout: Layout, session: SessionId, expect: Expect) -> tuple[Life, bool]:
    """The unsealed life there is, or the one that would begin; and whether it would."""
    latest, following = layout.latest_and_next(session)
    if latest is not None and not is_sealed(latest):
        return latest, False
    if expect is Expect.RESUME:
        raise NoSuchSession(session) if latest is None else Sealed(session)
    return following, True


def is_sealed(life: Life) -> bool:
    """A life whose audio was erased is as good as sealed.

    Raises Corrupt when it was sealed and its seal is not what was written.
    """
    if not life.exists():
        return False
    with Reader(life) as reader:
        next_seq, sealed = reader.head()
        if sealed or audio.erased_at(life.audio):
            return True
        if not os.stat(life.events).st_mode & stat.S_IWUSR:
            # Sealing makes the file read-only: without this a damaged seal would look like a torn tail.
            before, reason = next_seq - 1 if next_seq else None, "the seal is damaged, or a power cut took it"
            raise Corrupt(life.events, offset=reader.size(), seq=before, reason=reason)
    return False


def open_files(
    life: Life, lock: Lock, expect: Expect, owner: str, files: Files, descriptors: Descriptors
) -> Writer:
    """The writer of a life whose lock is held; the lock is its from here on, unless this raises."""
    events, fresh = lock.events, not life.exists()
    try:
        blobs = os.open(life.audio, WRITING | (os.O_CREAT if fresh else 0), 0o600)
    except FileNotFoundError:
        raise Corrupt(life.audio, offset=0, seq=None, reason="the blob file is gone") from None
    try:
        header = _begin(life, events, blobs, files) if fresh else life.header(events)
        found = recover(life, header, events, blobs, files)
        if expect is Expect.NEW and found.next_seq:
            raise WrongSequence(life.session, expected=0, actual=found.next_seq)
        epoch = lock.raise_epoch(owner, seen=found.writer_epoch, files=files)
    except BaseException:
        os.close(blobs)
        raise
    lease = Lease(life.session, life.incarnation, epoch)
    file = BlobFile(life.audio, blobs, descriptors)
    return Writer(lease, lock, found, file, seed=header.seed, files=files)


def _begin(life: Life, events: int, blobs: int, files: Files) -> FileHeader:
    """A life begins with the header of its events file; what an earlier try left there is thrown away."""
    header = FileHeader(life.session, life.incarnation, time.time_ns(), secrets.token_bytes(16))
    for fd in (blobs, events):
        if os.fstat(fd).st_size:  # cutting off nothing would have ext4 write the file out when it is closed
            files.truncate(fd, 0)
    write_all(files, blobs, audio.encode_header(header))
    write_all(files, events, encode_header(header))
    return header
