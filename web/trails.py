"""Views that connections left on their way, so that whoever comes back need not begin at the beginning.

A view is small and never changes. One is kept every STEP events while nothing is being said: an answer's
audio is one stream, and a place in the middle of it could not be gone on from. Without any the log is
projected from its beginning, which only takes longer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

from antiphon.actors.host import Hosted
from antiphon.events.envelope import Stored
from antiphon.events.ids import Seq
from antiphon.events.vocabulary import ResponseCreated, ResponseEnded
from antiphon.projections.base import frame_number

STEP = 256
KEPT = 16
"""Of each session and dialect: the last minutes of it."""

Trail = deque[tuple[Seq, Any]]
"""The seq of the next event, and the view before it."""


class Trails:
    """Those of all live sessions."""

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[Hosted, dict[str, Trail]] = WeakKeyDictionary()

    def walk(self, hosted: Hosted, dialect: str) -> Walker:
        """To leave views along the way."""
        return Walker(self._of.setdefault(hosted, {}).setdefault(dialect, deque(maxlen=KEPT)))

    def before(self, hosted: Hosted, dialect: str, after: int) -> tuple[Seq, Any] | None:
        """The latest view in which no frame beyond `after` was shown."""
        return next(self._behind(hosted, dialect, after), None)

    def _behind(self, hosted: Hosted, dialect: str, after: int) -> Iterator[tuple[Seq, Any]]:
        for seq, view in reversed(self._of.get(hosted, {}).get(dialect, ())):
            if frame_number(seq, 0) <= after:
                yield seq, view


class Walker:
    """One connection's."""

    __slots__ = ("_last", "_speaking", "_trail")

    def __init__(self, trail: Trail) -> None:
        self._trail = trail
        self._last = trail[-1][0] if trail else 0
        self._speaking = False

    def passed(self, stored: Stored, view: Any) -> None:
        """An event was shown, and left that view."""
        kind = type(stored.event)
        if kind is ResponseCreated:
            self._speaking = True
        elif kind is ResponseEnded:
            self._speaking = False
        if not self._speaking and stored.seq - self._last >= STEP:
            self._last = stored.seq
            self._trail.append((Seq(stored.seq + 1), view))
