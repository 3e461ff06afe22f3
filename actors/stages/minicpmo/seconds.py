"""From the session's units, a second at 24 kHz each, to the model's: a second at 16 kHz.

A resampler holds back what it has not heard enough of, so the model hears everything a little later, and
always by the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from antiphon.events.units import SAMPLE_RATE
from antiphon.media.pcm import to_float
from antiphon.media.resample import Resampler

RATE = 16_000
HELD_BACK = RATE * 40 // 1000
"""Samples that are not there yet when they are due, at most."""


class Seconds:
    """Of one session."""

    def __init__(self) -> None:
        self._resampler = Resampler(SAMPLE_RATE, RATE)
        self._ready = np.zeros(HELD_BACK, np.float32)

    def feed(self, pcm: bytes) -> NDArray[np.float32]:
        """A unit of 16-bit PCM; returns shape (16000,)."""
        ready = np.concatenate((self._ready, self._resampler.feed(to_float(pcm))))
        self._ready = ready[RATE:]
        return ready[:RATE]
