"""Readiness: what a session will need is driven once before the first one is admitted.

Kernels are loaded and chosen, and memory is taken, at the first use of each shape: met in live traffic that
would stall everybody. The thinkers warm the steps of units by themselves.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from concurrent.futures import Future

import numpy as np
from PIL import Image

from . import handing
from .drawing import Drawing
from .parts import Eyes, Parts
from .seconds import RATE
from .segments import Budget
from .thinker import Append, SegmentEnded, Thinker, ThinkerDied, Token

LONG = 2000
"""Positions of a context that is given anew; longer ones come in the same pieces."""
ENOUGH_S = 600.0


def warm(parts: Parts, budget: Budget, progress: Callable[[str], None]) -> None:
    """Raises ThinkerDied, or TimeoutError where the thinker never answers."""
    progress("warming: hearing, seeing, speaking, a context given anew")
    _hear(parts)
    if parts.eyes is not None:
        _see(parts.eyes)
    _condition(parts, budget)
    _give_anew(parts.thinker)


def _hear(parts: Parts) -> None:
    """With everything that an encoder may remember, until it has begun anew."""
    hearing, silence = parts.hearing(), np.zeros(RATE, np.float32)
    for _ in range(parts.shape.audio_config.seconds + 1):
        parts.ears.hear(hearing, silence)


def _see(eyes: Eyes) -> None:
    """As a camera shows it, and as a telephone held upright does."""
    for size in ((640, 480), (480, 640)):
        out = io.BytesIO()
        Image.new("RGB", size).save(out, "JPEG")
        eyes.see(out.getvalue())


def _condition(parts: Parts, budget: Budget) -> None:
    """Every number of words, with the thinker's states and without."""
    for count in range(budget.tokens):
        states = np.zeros((count, parts.thinker.facts.hidden), np.float32)
        for given in (states, None):
            parts.conditions.of(handing.Words((0,) * count, given), last=not count)


def _give_anew(thinker: Thinker) -> None:
    key, ended = "warming", Future[None]()

    def said(what: Token | SegmentEnded | ThinkerDied) -> None:
        if isinstance(what, ThinkerDied):
            ended.set_exception(what)
        elif isinstance(what, SegmentEnded):
            ended.set_result(None)

    length = min(LONG, thinker.facts.context_tokens - 2)
    append = Append(number=0, pieces=((0,) * length,), max_tokens=1, stop=frozenset(), drawing=Drawing())
    thinker.open(key).result(ENOUGH_S)
    thinker.append(key, append, said)
    ended.result(ENOUGH_S)
    thinker.close(key).result(ENOUGH_S)
