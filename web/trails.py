"""Places that connections left on their way through the log, so that whoever comes back need not begin at its
beginning.

A place is a view, which is small and never changes, every STEP events. Where an answer is being spoken whose
sound is one stream (resampled, for instance) none is left: it could not be gone on from. Without any
the log is projected from its beginning, which only takes longer.
"""

from __future__ import annotations

from collections import deque
from typing import Any
from weakref import WeakKeyDictionary

from msgspec import Struct

from antiphon.actors.host import Hosted
from antiphon.events.envelope import Stored
from antiphon.events.ids import ResponseId, Seq
from antiphon.events.vocabulary import ResponseCreated, ResponseEnded
from antiphon.projections.base import frame_number

STEP = 256
KEPT = 16
"""Of each session and dialect: the last minutes of it."""


class Place(Struct, frozen=True):
    """Between two events: the seq of the next, the view before it, and the answer that is under way (with its
    epoch), if one is."""

    seq: Seq
    view: Any
    answer: tuple[ResponseId, int] | None = None


Trail = deque[Place]


class Trails:
    """Those of all live sessions."""

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[Hosted, dict[str, Trail]] = WeakKeyDictionary()

    def walk(self, hosted: Hosted, dialect: str) -> Walker:
        """To leave places along the way."""
        return Walker(self._of.setdefault(hosted, {}).setdefault(dialect, deque(maxlen=KEPT)))


class Walker:
    """One connection's."""

    __slots__ = ("_answer", "_last", "_trail")

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self._last = trail[-1].seq if trail else 0
        self._answer: tuple[ResponseId, int] | None = None

    def begin(self, after: int) -> Place | None:
        """The latest place before which no frame beyond `after` was shown: go on from there. None: begin at
        the beginning."""
        for place in reversed(self._trail):
            if frame_number(place.seq, 0) <= after:
                self._answer = place.answer
                return place
        return None

    def passed(self, stored: Stored, view: Any, is_stream: bool) -> None:
        """An event was shown, and left that view. `is_stream`: the sound of the latest answer is one."""
        event = stored.event
        if type(event) is ResponseCreated:
            self._answer = event.response, event.fence.epoch
        elif type(event) is ResponseEnded:
            self._answer = None
        if stored.seq - self._last >= STEP and (self._answer is None or not is_stream):
            self._last = stored.seq
            self._trail.append(Place(Seq(stored.seq + 1), view, self._answer))
