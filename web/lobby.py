"""How much may come from connections that have no session yet: little from each, and from few of them much.

A first message may be large, a recorded voice for instance, and nobody knows yet who sends it. So a
connection is read as far as FREE_BYTES; what wants more waits for one of a few places, and its sender with
it. Who does not get one in time is told that its first message did not come (config_timeout).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

FREE_BYTES = 32 * 1024
"""What a connection may send before its session is open, without a place. Most first messages are smaller."""
PLACES = 2
"""Large first messages at a time: one takes up to four times its size while it is read."""


class Lobby:
    """The places of one serving process."""

    def __init__(self, places: int = PLACES) -> None:
        self._free = places
        self._waiting: deque[Place] = deque()

    def ask(self, granted: Callable[[], None]) -> Place:
        """Ask for a place; `granted` is called when it is there, maybe at once."""
        place = Place(self, granted)
        self._waiting.append(place)
        self._grant()
        return place

    def _grant(self) -> None:
        while self._free and self._waiting:
            self._free -= 1
            self._waiting.popleft().give()

    def _back(self, place: Place, held: bool) -> None:
        if held:
            self._free += 1
            self._grant()
        else:
            self._waiting.remove(place)


class Place:
    """What one connection waits for, or has."""

    def __init__(self, lobby: Lobby, granted: Callable[[], None]) -> None:
        self._lobby, self._granted = lobby, granted
        self.held = False
        self._over = False

    def give(self) -> None:
        self.held = True
        self._granted()

    def leave(self) -> None:
        """The place is not needed any more. Repeating is harmless."""
        if not self._over:
            self._over = True
            self._lobby._back(self, self.held)
