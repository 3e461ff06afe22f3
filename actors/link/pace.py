"""How often something may be done in the long run, with some of it ahead of time."""

from __future__ import annotations


class Pace:
    """Once in `every_s`, and up to `leeway_s` ahead of that: the generic cell rate algorithm (ITU-T I.371).

    Whoever has kept the pace may do some things at once; whoever never stops does one in `every_s`. Times are
    in seconds of one clock that does not go back.
    """

    def __init__(self, every_s: float, leeway_s: float) -> None:
        self._every_s, self._leeway_s = every_s, leeway_s
        self._even_s = 0.0
        """When the next would be due if they were evenly spaced."""

    @property
    def next_s(self) -> float:
        """When it may be done again."""
        return self._even_s - self._leeway_s

    def done(self, at_s: float) -> None:
        self._even_s = max(self._even_s, at_s) + self._every_s
