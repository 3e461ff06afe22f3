"""A long utterance in pieces that the recogniser can take.

The recogniser's work and memory grow with the square of what it is given at once (a minute: 9 s and 0.4 GB),
and beyond half a minute it begins to repeat itself. So what is longer is cut, each time at the quietest
moment of a piece's later half, and the texts are joined.
"""

import numpy as np
from numpy.typing import NDArray

from antiphon.events.units import SAMPLE_RATE

LONGEST = 15 * SAMPLE_RATE
EARLIEST = 8 * SAMPLE_RATE
"""Samples before which no piece ends."""

_STEP = SAMPLE_RATE // 100
_PAUSE = 16
"""Steps that are quiet together where nobody speaks: a stop consonant is shorter."""


def pieces(pcm: bytes) -> list[bytes]:
    """`pcm` in pieces of at most LONGEST samples; joined they are `pcm` again. At least one."""
    samples = np.frombuffer(pcm, "<i2")
    found = []
    while len(samples) > LONGEST:
        end = EARLIEST + _quietest(samples[EARLIEST:LONGEST])
        found.append(samples[:end].tobytes())
        samples = samples[end:]
    return [*found, samples.tobytes()]


def _quietest(samples: NDArray[np.int16]) -> int:
    """The middle of the quietest pause."""
    steps = len(samples) // _STEP
    loudness = np.abs(samples[: steps * _STEP].astype(np.int32)).reshape(steps, _STEP).sum(axis=1)
    pauses = np.convolve(loudness, np.ones(_PAUSE), "valid")
    return (int(pauses.argmin()) + _PAUSE // 2) * _STEP
