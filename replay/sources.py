"""Recorded lives, wherever they lie: in a store, or as recordings in files and folders."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from antiphon.events.envelope import BlobRef, Stored
from antiphon.events.errors import NoSuchSession
from antiphon.events.ids import SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.store import Log

from .intake import take_in

RECORDINGS = "*.antiphon.zip"


class Life(Struct, frozen=True):
    """One life of a session, and the store that can read it. `name` is for people."""

    name: str
    log: Log
    session: SessionId
    incarnation: int

    def events(self, *, stop: int | None = None) -> Iterator[Stored]:
        """From the first to before event `stop`. Raises NoSuchSession; Corrupt after what precedes it."""
        return self.log.read(self.session, incarnation=self.incarnation, stop=stop)

    def payload(self, ref: BlobRef) -> bytes:
        """Raises NoSuchSession, Corrupt, Erased."""
        return self.log.read_blob(self.session, ref, incarnation=self.incarnation)


def of_session(log: Log, session: SessionId) -> Iterator[Life]:
    """All lives of one session. Raises NoSuchSession."""
    lives = log.lives(session)
    for life in lives:
        yield Life(session if len(lives) == 1 else f"{session}/{life}", log, session, life)


def of_store(log: Log) -> Iterator[Life]:
    """All lives of all sessions; not of those that are erased while this goes on."""
    for head in log.sessions():
        with contextlib.suppress(NoSuchSession):
            yield from [*of_session(log, head.session)]


def of_recording(path: Path) -> Life:
    """A recording, checked as whatever comes from elsewhere is, and held in memory.

    Raises what `take_in` raises, and OSError.
    """
    log = MemoryLog()
    with path.open("rb") as file:
        manifest = take_in(log, file)
    return Life(path.name, log, manifest.session, manifest.incarnation)


def recordings(folder: Path) -> list[Path]:
    """The recordings in a folder and those below it, by name."""
    return sorted(folder.rglob(RECORDINGS))
