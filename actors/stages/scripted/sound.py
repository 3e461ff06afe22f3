"""What a scripted stage says and hears of sound."""

from __future__ import annotations

import math
from array import array
from functools import lru_cache

from antiphon.events.units import SAMPLE_RATE, ms_to_samples


@lru_cache(maxsize=64)
def tone(hertz: int, ms: int) -> bytes:
    """A sine at a quarter of full scale."""
    turn = 2 * math.pi * hertz / SAMPLE_RATE
    return array("h", (int(8192 * math.sin(turn * n)) for n in range(ms_to_samples(ms)))).tobytes()


def loudest(pcm: bytes) -> int:
    """The largest sample, without its sign."""
    samples = array("h", pcm)
    return max(max(samples), -min(samples)) if samples else 0
