"""An event's audio, cut into what each of its deltas holds (projections/slices.py)."""

from __future__ import annotations

from collections import deque

from antiphon.actors.runtime import Published
from antiphon.events.ids import Seq
from antiphon.events.units import BYTES_PER_SAMPLE, SAMPLE_RATE
from antiphon.events.vocabulary import AudioSpoken
from antiphon.projections.slices import slices


class Cutter:
    """One connection's. It is asked for each delta of an event once, in order."""

    def __init__(self) -> None:
        self.until = 0
        """The sample of its answer at which the latest piece ended."""
        self._seq = Seq(-1)
        self._at = 0
        self._left: deque[int] = deque()
        """Samples of each piece of the present event that is still to come."""

    def next(self, event: AudioSpoken, published: Published, rate: int = SAMPLE_RATE) -> bytes:
        """The next piece: mono pcm16 at 24 kHz, to be sent at `rate`."""
        if published.stored.seq != self._seq:
            self._seq, self._at, self._left = published.stored.seq, 0, deque(slices(event.samples, rate))
        start, self._at = self._at, self._at + self._left.popleft()
        self.until = event.until_sample - event.samples + self._at
        return (published.payload or b"")[start * BYTES_PER_SAMPLE : self._at * BYTES_PER_SAMPLE]
