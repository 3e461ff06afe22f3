"""What was really played: a clock for a loudspeaker that plays in real time whatever it is given, in order.

A piece begins to sound when it is given, or when everything before it has sounded. Nothing is ever said to be
played that may not have been: where that cannot be known it is taken to be less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

Plays = Literal["in_real_time", "when_taken", "never"]
"""How pieces of an answer become played: by the clock of a loudspeaker; as soon as they are taken (a file, a
player that takes no more than it needs); or only as the caller says by `ack_playback`."""


class Speaker:
    """One loudspeaker, for all answers of a client. `clock` gives seconds that never go back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.free_at = -math.inf
        """When everything that it was given has sounded."""


class PlaybackClock:
    """How far one answer has been played on a speaker."""

    def __init__(self, speaker: Speaker, plays: Plays) -> None:
        self._speaker, self._plays = speaker, plays
        self._given_ms = 0.0
        self._sounds_until = -math.inf
        self._played_ms = 0.0
        """At the least: what was played once stays so."""
        self._stopped_at_ms: float | None = None

    def give(self, until_ms: float) -> None:
        """The answer was handed to the player, up to that place of its own."""
        now = self._speaker.clock()
        self._played_ms = self.played_ms
        more_s = max(until_ms - self._given_ms, 0) / 1000
        if self._plays == "in_real_time":
            self._sounds_until = self._speaker.free_at = max(now, self._speaker.free_at) + more_s
        self._given_ms = max(self._given_ms, until_ms)

    def stop(self) -> None:
        """The player throws away what has not sounded yet."""
        if self._stopped_at_ms is None:
            self._stopped_at_ms = self.played_ms
            if self._plays == "in_real_time":
                self._speaker.free_at = min(self._speaker.free_at, self._speaker.clock())

    @property
    def stopped(self) -> bool:
        return self._stopped_at_ms is not None

    @property
    def played_ms(self) -> float:
        if self._stopped_at_ms is not None:
            return self._stopped_at_ms
        match self._plays:
            case "never":
                return 0.0
            case "when_taken":
                return self._given_ms
            case "in_real_time":
                left_ms = max(self._sounds_until - self._speaker.clock(), 0) * 1000
                return max(self._given_ms - left_ms, self._played_ms)

    @property
    def left_s(self) -> float:
        """How long what was given goes on sounding."""
        if not self.sounding:
            return 0.0
        return max(self._sounds_until - self._speaker.clock(), 0.0)

    @property
    def sounding(self) -> bool:
        """Whether something that was given has still to sound."""
        return self.played_ms < self._given_ms and not self.stopped and self._plays != "never"
