"""From the thinker to the talker: the words of a unit, and what the model thought behind each of them.

A word and its state are matched by where the word stands in its segment and by which token it is, not by
counting from an end: control tokens stand between words, and the last token of a segment has no state.

What is said of a turn is one stream of sound. The talker's KV and the vocoder's caches go from chunk to chunk
of it; chunks are numbered without a gap, and another turn or a cut means caches of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from .segments import Segment

CODES_PER_CHUNK = 25
"""Codec tokens for one second of sound."""
MOST_CHUNKS_AT_END = 4
"""What is left when a turn ends may take as many chunks' time."""
MASKED_STEPS = 5
"""Steps behind each full chunk of a turn's end at which the codec's end is not allowed."""


class Words(Struct, frozen=True):
    """What the talker is given. `states`: shape (len(tokens), hidden); None: the thinker gives none."""

    tokens: tuple[int, ...]
    states: NDArray[np.float32] | None


class Chunk(Struct, frozen=True):
    """Where in a turn's sound a unit stands. `last`: the turn ends with it."""

    stream: int
    number: int
    last: bool


def hand_over(segment: Segment, generated: Sequence[int], states: NDArray[np.float32] | None) -> Words:
    """`generated`: all tokens of the segment; `states`: shape (len(generated) - 1, hidden).

    Raises ValueError where tokens and states are not of the same segment.
    """
    if any(generated[place] != word for place, word in zip(segment.places, segment.words, strict=True)):
        raise ValueError("the words are not those of the segment")
    if states is None:
        return Words(segment.words, None)
    if len(states) != len(generated) - 1:
        raise ValueError(f"{len(states)} states of {len(generated)} tokens, the last of which has none")
    return Words(segment.words, states[list(segment.places)])


def following(chunk: Chunk | None, *, last: bool) -> Chunk:
    """The chunk behind `chunk`, or the first of a stream."""
    if chunk is None:
        return Chunk(0, 0, last)
    return Chunk(chunk.stream + 1, 0, last) if chunk.last else Chunk(chunk.stream, chunk.number + 1, last)


def cut(chunk: Chunk | None) -> Chunk | None:
    """The user cut in: what is said next is a stream of its own."""
    return None if chunk is None else Chunk(chunk.stream, chunk.number, True)


def most_codes(*, last: bool) -> int:
    """Codec tokens of a chunk, the codec's end not among them."""
    return CODES_PER_CHUNK * (MOST_CHUNKS_AT_END if last else 1)
