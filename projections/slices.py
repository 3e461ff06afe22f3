"""How an event's audio is cut for the wire: every dialect cuts it so, and the edge fills the frames by it."""

from __future__ import annotations

from antiphon.events.units import SAMPLE_RATE, ms_to_samples

SLICE = ms_to_samples(200)
"""Of an audio delta, at 24 kHz or below; at higher rates it is as many bytes. A short frame can be taken back
as long as it waits, and what a socket has taken cannot."""
MOST_SLICES = 30
"""Audio deltas of one event at most: with what comes around them they are fewer than its numbers."""


def slices(samples: int, rate: int = SAMPLE_RATE) -> list[int]:
    """How many samples (at 24 kHz) each audio delta takes of an event with `samples`, sent at `rate`."""
    size = max(SLICE * SAMPLE_RATE // max(rate, SAMPLE_RATE), -(-samples // MOST_SLICES))
    return [min(size, samples - start) for start in range(0, samples, size)]
