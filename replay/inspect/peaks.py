"""How loud both sides were, in columns: what a waveform is drawn of.

A column is three bytes: the greatest deviation of the user's samples and of the answers' (255 is full scale,
also of what nobody heard), and the greatest speech probability (255 is certain). Of a column that is as long
as many pieces of audio about `MOST_LOOKED_AT` are looked at, evenly spread: an hour that is shown on one
screen is not read whole.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from antiphon.events.envelope import BlobRef
from antiphon.replay.sound import Piece, Run

from .life import LifeView

MOST_LOOKED_AT = 3
BLOCK = 64
"""Columns that are handed out together."""

Payload = Callable[[BlobRef], bytes]


def columns(life: LifeView, payload: Payload, start: int, stop: int, count: int) -> Iterator[bytes]:
    """`count` columns of [start, stop), in samples of the timeline, some at a time. In any thread.

    `payload` gives an event's audio, and nothing of what cannot be read.
    """
    laid = life.laid(generated=True)
    sides = [Side([laid.user], payload), Side(sorted(laid.played, key=lambda run: run.begin), payload)]
    edges = [start + (stop - start) * k // count for k in range(count + 1)]
    for first in range(0, count, BLOCK):
        block = bytearray()
        for begin, end in pairwise(edges[first : first + BLOCK + 1]):
            block += bytes((*(side.peak(begin, end) for side in sides), _voice(life, begin, end)))
        yield bytes(block)


def _voice(life: LifeView, begin: int, end: int) -> int:
    first, last = bisect_right(life.voice_at, begin), bisect_right(life.voice_at, end)
    if last < len(life.voice_at) and life.voice_at[last] - life.voice_window < end:
        last += 1  # it has begun, and ends behind the column
    return max(life.voice_permille[first:last], default=0) * 255 // 1_000


class Side:
    """One side of the conversation; its runs in order of their beginning."""

    def __init__(self, runs: Sequence[Run], payload: Payload) -> None:
        self._runs, self._payload = runs, payload
        self._begins = [run.begin for run in runs]
        self._longest = max((run.samples for run in runs), default=0)
        self._read: tuple[BlobRef, NDArray[np.int16]] | None = None

    def peak(self, begin: int, end: int) -> int:
        first = bisect_left(self._begins, begin - self._longest)
        last = bisect_left(self._begins, end)
        near = (run for run in self._runs[first:last] if run.begin + run.samples > begin)
        found = [(run, run.during(begin, end)) for run in near]
        step = max(sum(len(places) for _, places in found) // MOST_LOOKED_AT, 1)
        looked_at = (run[place] for run, places in found for place in places[::step])
        return max((self._of(piece, begin, end) for piece in looked_at), default=0)

    def _of(self, piece: Piece, begin: int, end: int) -> int:
        pcm = self._pcm(piece)[: piece.samples][max(begin - piece.start, 0) : max(end - piece.start, 0)]
        if not len(pcm):
            return 0
        return min(max(int(pcm.max()), -int(pcm.min())) >> 7, 255)

    def _pcm(self, piece: Piece) -> NDArray[np.int16]:
        if self._read is None or self._read[0] is not piece.blob:
            self._read = (piece.blob, np.frombuffer(self._payload(piece.blob), "<i2"))
        return self._read[1]
