"""Where things lie under the data directory.

    STORE                                     format of the store and its id
    sessions/<2 hex>/<session>/<incarnation>/
        events.log                            header and frames (frame.py)
        audio.blob                            payloads that events refer to (audio.py)
        LOCK                                  who writes, and the writer epoch (lock.py)

A life of a session exists once its events.log has a whole header, which is the last file to be made.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from ..errors import NoSuchSession, NotALog
from ..ids import SessionId
from .frame import HEADER_SIZE, FileHeader, decode_header

FORMAT = 1
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)


class _Store(Struct):
    format: int
    id: str


class Life(Struct, frozen=True):
    """One incarnation of a session, as files."""

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
    def lock(self) -> str:
        return f"{self.directory}/LOCK"

    def exists(self) -> bool:
        try:
            return os.stat(self.events).st_size >= HEADER_SIZE
        except (FileNotFoundError, NotADirectoryError):
            return False

    def header(self, fd: int) -> FileHeader:
        """The header of the open events file. Raises NotALog, also when it is another life's file."""
        header = decode_header(os.pread(fd, HEADER_SIZE, 0), path=self.events)
        if (header.session, header.incarnation) != (self.session, self.incarnation):
            raise NotALog(self.events, f"belongs to {header.session}/{header.incarnation}")
        return header


class Layout:
    """The data directory of one store; made if it is not there. Raises NotALog for a newer format."""

    def __init__(self, root: Path) -> None:
        self._sessions = root / "sessions"
        root.mkdir(parents=True, mode=0o700, exist_ok=True)  # what was said is its owner's alone
        self._sessions.mkdir(mode=0o700, exist_ok=True)
        self.id = _store_id(root)

    def life(self, session: SessionId, incarnation: int) -> Life:
        """Names only; nothing needs to exist. Raises ValueError for a name that may not become a path."""
        return Life(session, incarnation, f"{self._directory(session)}/{incarnation}")

    def latest(self, session: SessionId) -> Life | None:
        """The youngest life there is."""
        for incarnation in sorted(_numbers(self._directory(session)), reverse=True):
            life = self.life(session, incarnation)
            if life.exists():
                return life
        return None

    def find(self, session: SessionId, incarnation: int | None) -> Life:
        """The life that is to be read, the youngest by default. Raises NoSuchSession."""
        with contextlib.suppress(ValueError):
            life = self.latest(session) if incarnation is None else self.life(session, incarnation)
            if life is not None and life.exists():
                return life
        raise NoSuchSession(session)

    def sessions(self) -> Iterator[SessionId]:
        for shelf in filter(os.DirEntry.is_dir, os.scandir(self._sessions)):
            for entry in os.scandir(shelf.path):
                if _NAME.fullmatch(entry.name) and entry.is_dir():
                    yield SessionId(entry.name)

    def _directory(self, session: SessionId) -> str:
        if not _NAME.fullmatch(session):
            raise ValueError("a session id is 1 to 128 of A-Z a-z 0-9 _ -")
        return f"{self._sessions}/{hashlib.blake2b(session.encode(), digest_size=1).hexdigest()}/{session}"


def _numbers(directory: str) -> Iterator[int]:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for name in os.listdir(directory):
            if name.isascii() and name.isdigit():
                yield int(name)


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
