"""The last events of a session, for any number of readers, each at a place of its own.

Whoever writes never waits. A reader that falls behind by more than is kept is told how many it missed.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque

from .errors import DuplexClientError
from .events import Event
from .reading import own

KEPT = 1024


class Recent:
    """`end` is what readers meet after the last event: None, an ordinary end."""

    def __init__(self, kept: int = KEPT) -> None:
        self._events = deque[Event](maxlen=kept)
        self._waiting: list[asyncio.Future[None]] = []
        self.written = 0
        """How many events there have ever been."""
        self.dropped = 0
        """How many of them readers came too late for, all readers together."""
        self.over = False
        self._error: DuplexClientError | None = None

    def add(self, event: Event) -> None:
        self._events.append(event)
        self.written += 1
        self._wake()

    def end(self, error: DuplexClientError | None) -> None:
        if not self.over:
            self.over, self._error = True, error
            self._wake()

    async def at(self, place: int) -> tuple[int, Event | None]:
        """The event at that place, and the place behind it; None after an ordinary end.

        What is asked for too late is answered by `client.events_dropped`. Raises what the session ended with.
        """
        while place >= self.written:
            if self.over:
                if self._error is not None:
                    raise self._error
                return place, None
            await self._news()
        first = self.written - len(self._events)
        if place < first:
            self.dropped += first - place
            return first, own("client.events_dropped", time.monotonic(), count=first - place)
        return place + 1, self._events[place - first]

    async def _news(self) -> None:
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        try:
            await waiting
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)


class Reader:
    """A place in what is told. One task reads at a time."""

    def __init__(self, recent: Recent) -> None:
        self._recent, self._place = recent, 0

    async def next(self) -> Event | None:
        self._place, event = await self._recent.at(self._place)
        return event
