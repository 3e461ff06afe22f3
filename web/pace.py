"""How fast a client's frames are read: nobody talks in thousands of frames a second.

BURST frames are read as they come (a client that comes back sends again what had not arrived), and beyond
that RATE a second. Who sends more waits, by TCP, and is never refused: whatever it means by it, the others'
frames are worked on meanwhile. Looked at every STEP frames, so that each costs next to nothing.
"""

from __future__ import annotations

BURST = 2_000
RATE = 500
STEP = 50


class Pace:
    """One connection's: the generic cell rate algorithm, on a clock in seconds that never goes back."""

    __slots__ = ("_left", "_paid_until")

    def __init__(self) -> None:
        self._left = STEP
        self._paid_until = 0.0

    def passed(self) -> bool:
        """One more frame was read. Whether to ask for a pause."""
        self._left -= 1
        return self._left <= 0

    def pause(self, now: float) -> float:
        """For how long to read no more."""
        self._left = STEP
        self._paid_until = max(self._paid_until, now) + STEP / RATE
        return max(self._paid_until - now - BURST / RATE, 0.0)
