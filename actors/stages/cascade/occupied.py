"""Which sessions a lane is at work for: one that is closed meanwhile has left when the lane has.

The writer keeps something for each session (a slot of the memory of a model). It may be given to the next one
when nobody writes into it any more, and not when somebody was told to stop.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from antiphon.events.ids import SessionId


class Occupied:
    """`left` is called once for each session that was let go, from whatever thread was the last."""

    def __init__(self, left: Callable[[SessionId], None]) -> None:
        self._left = left
        self._at_work: Counter[SessionId] = Counter()
        self._leaving: dict[SessionId, Future[None]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def for_(self, session: SessionId, wanted: Callable[[], bool]) -> Iterator[bool]:
        """At work for the session as long as this lasts; False, and not at work, when it is not `wanted`."""
        with self._lock:
            begun = wanted()
            if begun:
                self._at_work[session] += 1
        try:
            yield begun
        finally:
            if begun:
                self._end(session)

    def let_go(self, session: SessionId) -> Future[None] | None:
        """The session is over, and no work for it is wanted any more. None: nobody is at work for it."""
        with self._lock:
            if self._at_work[session]:
                return self._leaving.setdefault(session, Future())
            del self._at_work[session]
        self._left(session)
        return None

    def _end(self, session: SessionId) -> None:
        with self._lock:
            self._at_work[session] -= 1
            if self._at_work[session]:
                return
            del self._at_work[session]
            leaving = self._leaving.pop(session, None)
        if leaving is not None:
            self._left(session)
            leaving.set_result(None)
