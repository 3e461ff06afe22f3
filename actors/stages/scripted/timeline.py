"""What is to be said when, on a clock that somebody else moves."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from itertools import count


class Timeline:
    """Actions in order of their time; those of the same moment in the order they were planned."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._planned: list[tuple[int, int, Callable[[], None]]] = []
        self._order: Iterator[int] = count()

    def plan(self, at_ms: int, action: Callable[[], None]) -> None:
        """Do `action` at `at_ms`; a time that has passed means at the next `advance`."""
        heapq.heappush(self._planned, (at_ms, next(self._order), action))

    def next_ms(self) -> int | None:
        """When the next action is due."""
        return self._planned[0][0] if self._planned else None

    def due(self, until_ms: int) -> Iterator[Callable[[], None]]:
        """Move the clock to `until_ms`, action by action."""
        while self._planned and self._planned[0][0] <= until_ms:
            at_ms, _, action = heapq.heappop(self._planned)
            self.now_ms = max(self.now_ms, at_ms)
            yield action
        self.now_ms = max(self.now_ms, until_ms)
