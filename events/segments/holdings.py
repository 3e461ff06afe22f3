"""What of each life lies on the disk: asked of its files and its lock, not of what is in them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from .. import diagnostics
from ..errors import LogError
from ..store import Holding
from . import audio
from .layout import Layout, Life
from .lock import is_held
from .opening import is_sealed


def holdings(layout: Layout) -> Iterator[Holding]:
    """Every life of every session, also one that is damaged. A life erased meanwhile is passed over.

    So is a session that the disk does not let us look at, and the program's log says so: it hides no other.
    """
    for session in layout.sessions():
        try:
            yield from _of(layout.lives(session))
        except OSError as error:
            diagnostics.warning("segments.session_unreadable", session=session, error=str(error))


def _of(lives: Iterable[Life]) -> Iterator[Holding]:
    for life in lives:
        try:
            yield _holding(life)
        except FileNotFoundError:
            continue


def _holding(life: Life) -> Holding:
    events = os.stat(life.events)
    sealed = _is_sealed(life, events.st_mode)
    erased = audio.erased_at(life.audio) and os.stat(life.audio).st_size == audio.TOMBSTONE_SIZE
    damaged = life.damaged()
    damaged_audio = sum(_size(f"{folder}/audio.blob") for folder in damaged)
    return Holding(
        life.session,
        life.incarnation,
        last_written_ns=events.st_mtime_ns,
        events_bytes=events.st_size + sum(_size(f"{folder}/events.log") for folder in damaged),
        audio_bytes=_size(life.audio) + damaged_audio,
        live=not sealed and is_held(life),
        sealed=sealed,
        erased=erased and not damaged_audio,
    )


def _is_sealed(life: Life, mode: int) -> bool:
    if not mode & stat.S_IWUSR:
        return True
    try:
        return is_sealed(life)
    except LogError:
        return False


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
