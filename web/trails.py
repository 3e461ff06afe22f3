"""Places that connections left on their way through the log, so that whoever comes back need not begin at its
beginning.

A place is a view, which is small and never changes, every STEP events. Where an answer is being spoken whose
sound is one stream (resampled, for instance) none is left: it could not be gone on from. Some of the latest
are kept beside the log when a connection ends, when its session is parked, and now and then, for whoever
comes back to another process. Without any the log is projected from its beginning, which only takes longer.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import structlog
from msgspec import Struct

from antiphon import events, projections
from antiphon.actors import modes, session
from antiphon.actors.checkpoints import Checkpoints, digest_of
from antiphon.actors.hosted import Hosted
from antiphon.events.envelope import Stored
from antiphon.events.errors import LogError
from antiphon.events.ids import ResponseId, Seq, SessionId
from antiphon.events.store import Log
from antiphon.events.units import Moment
from antiphon.events.vocabulary import (
    Event,
    ResponseCreated,
    ResponseEnded,
    SessionClosed,
    SessionExpired,
    SessionFailed,
    SessionParked,
)
from antiphon.projections.base import Projection, frame_number

log = structlog.get_logger(__name__)

STEP = 256
LIMIT = 16
"""Of each session and dialect: the last minutes of it."""
KEPT = (-8, -4, -2, -1)
"""Which of them are kept beside the log: clients come back from seconds ago, and from a minute ago."""
KEPT_EVERY = 2
"""Places between two that are kept beside the log as long as the connection lasts."""

_TURNINGS = frozenset(
    (ResponseCreated, ResponseEnded, SessionParked, SessionClosed, SessionExpired, SessionFailed)
)

V = TypeVar("V")


class Place(Struct, Generic[V], frozen=True, array_like=True):
    """Between two events: the seq of the next and the moment of the one before; the view there, and the
    answer that is under way (with its epoch), if one is."""

    seq: Seq
    at: Moment
    view: V
    answer: tuple[ResponseId, int] | None = None


Trail = deque[Place[Any]]


def checkpoints(store: Log) -> Checkpoints:
    """Those of the code that folds and projects here."""
    return Checkpoints(store, digest_of(events, session, modes, projections))


class Trails:
    """Those of all live sessions."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints
        self._of: WeakKeyDictionary[Hosted, dict[str, Trail]] = WeakKeyDictionary()

    def walk(self, hosted: Hosted, dialect: str, projection: Projection) -> Walker:
        """To leave places along the way, where those of earlier connections are."""
        trails = self._of.setdefault(hosted, {})
        trail = trails.get(dialect)
        if trail is None:
            trail = trails[dialect] = deque(maxlen=LIMIT)
            view = type(projection.begin(1))
            places = tuple[Place[view], ...]  # type: ignore[valid-type]
            trail.extend(self._checkpoints.find(hosted.id, _name(dialect), places) or ())
        return Walker(trail, hosted.id, dialect, self._checkpoints)


class Walker:
    """One connection's."""

    __slots__ = ("_answer", "_checkpoints", "_kept", "_last", "_name", "_over", "_session", "_trail")

    def __init__(self, trail: Trail, session: SessionId, dialect: str, checkpoints: Checkpoints) -> None:
        self._trail, self._session, self._checkpoints = trail, session, checkpoints
        self._name = _name(dialect)
        self._last = self._kept = trail[-1].seq if trail else 0
        self._answer: tuple[ResponseId, int] | None = None
        self._over = False
        """Nobody will come back."""

    def begin(self, after: int) -> Place[Any] | None:
        """The latest place before which no frame beyond `after` was shown: go on from there. None: begin at
        the beginning."""
        for place in reversed(self._trail):
            if frame_number(place.seq, 0) <= after:
                self._answer = place.answer
                return place
        return None

    def passed(self, stored: Stored, view: Any, is_stream: bool) -> None:
        """An event was shown, and left that view. `is_stream`: the sound of the latest answer is one."""
        if type(stored.event) in _TURNINGS:
            self._turn(stored.event)
        if stored.seq - self._last >= STEP and (self._answer is None or not is_stream):
            self._last = stored.seq
            self._trail.append(Place(Seq(stored.seq + 1), stored.at, view, self._answer))
            if self._last - self._kept >= KEPT_EVERY * STEP:
                self.keep()

    def _turn(self, event: Event) -> None:
        match event:
            case ResponseCreated(response=response, fence=fence):
                self._answer = response, fence.epoch
            case ResponseEnded():
                self._answer = None
            case SessionParked():
                self.keep()
            case _:
                self._over = True

    def keep(self) -> None:
        """Beside the log, for other processes; what is there already is not kept again."""
        trail = self._trail
        if self._over or not trail or trail[-1].seq == self._kept:
            return
        latest, self._kept = trail[-1], trail[-1].seq
        places = [trail[n] for n in KEPT if -n <= len(trail)]
        try:
            self._checkpoints.keep(self._session, self._name, latest.seq, latest.at, places)
        except LogError as error:  # the session has ended, and its log is being erased
            log.info("trails.not_kept", session=self._session, code=error.code)


def _name(dialect: str) -> str:
    return f"places-{dialect.replace('_', '-')}"
