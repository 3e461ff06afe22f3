"""Where things lie under the data directory.

    STORE                                     format of the store and its id
    sessions/<2 hex>/<session>/<incarnation>/
        events.log                            header and frames (frame.py); locked by its writer (lock.py)
        audio.blob                            payloads that events refer to (audio.py)
        LOCK                                  who wrote last, and the last writer epoch (record.py)
        derived-<name>                        what was computed from the events (derived.py)
        damaged-<n>/                          both files as they were before a salvage (salvage.py)
    sessions/<2 hex>/<session>/<incarnation>.erased
                                              that life was erased; empty, its time is when
    incoming/<random>/                        an import on its way, locked while somebody works at it

A life of a session exists once its events.log has a whole header, which is the last to be written.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import msgspec
from msgspec import Struct

from ..errors import NoSuchSession, NotALog
from ..ids import SessionId
from .frame import HEADER_SIZE, FileHeader, decode_header, is_session_id

FORMAT = 1
_ERASED = ".erased"
_DERIVED_NAME = re.compile(r"[a-z-]{1,40}", re.ASCII)
_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)


class _Store(Struct):
    format: int
    id: str


class Life(Struct, frozen=True):
    """One incarnation of a session, as files."""

    DERIVED: ClassVar[str] = "derived-"

    session: SessionId
    incarnation: int
    directory: str

    @property
    def events(self) -> str:
        return f"{self.directory}/events.log"

    @property
    def audio(self) -> str:
        return f"{self.directory}/audio.blob"

    @property
    def record(self) -> str:
        return f"{self.directory}/LOCK"

    @property
    def erased(self) -> str:
        """Stands where the life stood once it was erased as a whole."""
        return f"{self.directory}{_ERASED}"

    def derived(self, name: str) -> str:
        """Raises ValueError for a name that may not become a path."""
        if not _DERIVED_NAME.fullmatch(name):
            raise ValueError("what is derived has a name of a-z and -")
        return f"{self.directory}/{self.DERIVED}{name}"

    @property
    def landmarks(self) -> str:
        """Derived, too; nobody else may give that name."""
        return f"{self.directory}/{self.DERIVED}landmarks.store"

    def damaged(self) -> list[str]:
        """Folders of files that were moved aside when the life was salvaged."""
        names = os.listdir(self.directory)
        return [f"{self.directory}/{name}" for name in names if name.startswith("damaged-")]

    def exists(self) -> bool:
        try:
            return os.stat(self.events).st_size >= HEADER_SIZE
        except (FileNotFoundError, NotADirectoryError):
            return False

    def header(self, fd: int) -> FileHeader:
        """The header of the open events file. Raises NotALog, also when it is another life's file."""
        return self.header_in(os.pread(fd, HEADER_SIZE, 0))

    def header_in(self, data: bytes) -> FileHeader:
        """As `header`, of what an events file begins with."""
        header = decode_header(data, path=self.events)
        if (header.session, header.incarnation) != (self.session, self.incarnation):
            raise NotALog(self.events, f"belongs to {header.session}/{header.incarnation}")
        return header


class Layout:
    """The data directory of one store; made if it is not there. Raises NotALog for a newer format."""

    def __init__(self, root: Path) -> None:
        self._sessions, self._incoming = root / "sessions", root / "incoming"
        root.mkdir(parents=True, mode=0o700, exist_ok=True)  # what was said is its owner's alone
        self._sessions.mkdir(mode=0o700, exist_ok=True)
        self.id = _store_id(root)
        self._clear_incoming()

    def life(self, session: SessionId, incarnation: int) -> Life:
        """Names only; nothing needs to exist. Raises ValueError for a name that may not become a path."""
        return Life(session, incarnation, f"{self._directory(session)}/{incarnation}")

    def latest(self, session: SessionId) -> Life | None:
        """The youngest life there is."""
        return self.latest_and_next(session)[0]

    def latest_and_next(self, session: SessionId) -> tuple[Life | None, Life]:
        """The youngest life there is, and the one that would begin now, behind all that ever were."""
        there, erased = self._numbers(session)
        for number in reversed(there):
            life = self.life(session, number)
            if life.exists():
                return life, self.life(session, max(number, *erased, -1) + 1)
        return None, self.life(session, max(erased, default=-1) + 1)

    def lives(self, session: SessionId) -> list[Life]:
        """Those there are, oldest first; none is no error."""
        lives = [self.life(session, number) for number in self._numbers(session)[0]]
        return [life for life in lives if life.exists()]

    def erased(self, session: SessionId) -> list[int]:
        """The incarnations that were erased as a whole."""
        return self._numbers(session)[1]

    def find(self, session: SessionId, incarnation: int | None) -> Life:
        """The life that is to be read, the youngest by default. Raises NoSuchSession."""
        with contextlib.suppress(ValueError):
            life = self.latest(session) if incarnation is None else self.life(session, incarnation)
            if life is not None and life.exists():
                return life
        raise NoSuchSession(session)

    @contextlib.contextmanager
    def incoming(self) -> Iterator[str]:
        """A folder for what is not yet to be seen. Removed with what is left in it, after a crash too."""
        self._incoming.mkdir(mode=0o700, exist_ok=True)
        path = self._incoming / secrets.token_hex(8)
        while (fd := _made_and_locked(path)) is None:
            continue
        try:
            yield str(path)
        finally:
            shutil.rmtree(path, ignore_errors=True)
            os.close(fd)

    def sessions(self) -> Iterator[SessionId]:
        for shelf in filter(os.DirEntry.is_dir, os.scandir(self._sessions)):
            for entry in os.scandir(shelf.path):
                if is_session_id(entry.name) and entry.is_dir():
                    yield SessionId(entry.name)

    def _numbers(self, session: SessionId) -> tuple[list[int], list[int]]:
        """Of the lives that may be there, and of those that were erased; each in order."""
        names: list[str] = []
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            names = os.listdir(self._directory(session))
        there = sorted(int(name) for name in names if _NUMBER.fullmatch(name))
        erased = (name.removesuffix(_ERASED) for name in names if name.endswith(_ERASED))
        return there, sorted(int(name) for name in erased if _NUMBER.fullmatch(name))

    def _directory(self, session: SessionId) -> str:
        if not is_session_id(session):
            raise ValueError("a session id is 1 to 128 of A-Z a-z 0-9 _ -")
        return f"{self._sessions}/{hashlib.blake2b(session.encode(), digest_size=1).hexdigest()}/{session}"

    def _clear_incoming(self) -> None:
        """Whoever still works at one of them holds its lock."""
        with contextlib.suppress(OSError):
            for entry in os.scandir(self._incoming):
                fd = os.open(entry.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(entry.path, ignore_errors=True)
                except BlockingIOError:
                    continue
                finally:
                    os.close(fd)


def sync_directory(path: str) -> None:
    """What was made, renamed and removed there stays so when the power fails."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _made_and_locked(path: Path) -> int | None:
    """None when another opening of the store took the folder for a leftover before it was locked."""
    path.mkdir(mode=0o700, exist_ok=True)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        if os.path.samestat(os.stat(path), os.fstat(fd)):
            return fd
    except FileNotFoundError:
        pass
    os.close(fd)
    return None


def _store_id(root: Path) -> str:
    path = root / "STORE"
    if not path.exists():
        # Linked into place whole, so that of two processes starting at once one wins and both read it.
        fresh = root / f".STORE-{secrets.token_hex(8)}"
        fresh.write_bytes(msgspec.json.encode(_Store(FORMAT, secrets.token_hex(16))))
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
        fresh.unlink()
    try:
        store = msgspec.json.decode(path.read_bytes(), type=_Store)
    except msgspec.MsgspecError as error:
        raise NotALog(str(path), str(error)) from error
    if store.format != FORMAT:
        raise NotALog(str(path), f"store format {store.format}, this program reads {FORMAT}")
    return store.id
