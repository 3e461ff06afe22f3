"""Whose frames are worked on next, where clients have sent more than can be done at once.

Each does a piece in its turn, and all of them together have a little of every turn of the event loop. So
however many they are, whoever sends a frame now and then waits for no more than that little.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

TURN_S = 0.0005
"""Of a turn of the loop, and at least a piece."""

Work = Callable[[], bool]
"""Does a piece; whether there is more to do."""


class Line:
    """Those of one event loop who wait for their turn."""

    def __init__(self) -> None:
        self._waiting: deque[Work] = deque()

    def join(self, work: Work, loop: asyncio.AbstractEventLoop) -> None:
        """`work` is called later, again and again until it is done. When it raises it is done, too."""
        if not self._waiting:
            loop.call_soon(self._go, loop)
        self._waiting.append(work)

    def _go(self, loop: asyncio.AbstractEventLoop) -> None:
        until = loop.time() + TURN_S
        try:
            while self._waiting:
                self._next()
                if loop.time() >= until:
                    break
        finally:  # a mistake in what one of them does is not the others' end
            if self._waiting:
                loop.call_soon(self._go, loop)

    def _next(self) -> None:
        """The first does a piece. Until then it stays where it is: whoever joins meanwhile starts nothing."""
        more, work = False, self._waiting[0]
        try:
            more = work()
        finally:
            self._waiting.popleft()
            if more:
                self._waiting.append(work)
