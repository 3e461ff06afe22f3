"""The same conversation for all engines: what a unit appends, how it is drawn, what is written down of it.

A unit is a second, laid out as MiniCPM-o's is: three tokens (the terminator of the one before, and what
stands between two units) and 10 embeddings for sound, then 20 tokens; every fourth is made to listen, which
takes one. Sessions have their units all at the same moment, which is the worst that they can do, or spread
over the second, as strangers do.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise

import numpy as np
from msgspec import Struct

from antiphon.actors.stages.minicpmo.drawing import MOST_RECENT, Drawing
from antiphon.actors.stages.minicpmo.thinker import Append, Embeddings, Piece

LISTEN, CHUNK_END, UNIT_END, UNIT_BEGIN = 2, 3, 4, 5
STOP = frozenset((LISTEN, CHUNK_END))
SOUND, SPOKEN = 10, 20
HEARD = 3 + SOUND
LISTENS_EVERY = 4
UNIT_S = 1.0
UNCOUNTED = 2
"""Units at the beginning of each run."""
SOUNDS = 4
"""Different seconds of a session, over and over: to make another one each time would be measured, too."""
LISTENING = Drawing(first=(LISTEN,))


class Told(Struct):
    """Of one unit, in ns of the monotonic clock: when it was asked, and when each token was there."""

    asked_ns: int
    tokens_ns: list[int]
    listened: bool

    @property
    def first_ms(self) -> float:
        return (self.tokens_ns[0] - self.asked_ns) / 1e6

    @property
    def whole_ms(self) -> float:
        return (self.tokens_ns[-1] - self.asked_ns) / 1e6

    @property
    def gaps_ms(self) -> list[float]:
        return [(after - before) / 1e6 for before, after in pairwise(self.tokens_ns)]


class Speaker:
    """What one session appends, unit by unit. Token ids are random and so are embeddings (float32, as the
    encoder's): no engine looks at them."""

    def __init__(self, number: int, context: int, vocabulary: int, hidden: int) -> None:
        self._chance, self._context, self._vocabulary = random.Random(number), context, vocabulary
        self._seed, self._number = number, 0
        self._recent: list[int] = []
        sounds = np.random.default_rng(number).standard_normal((SOUNDS, SOUND, hidden), np.float32)
        self._sounds: list[Embeddings] = list(sounds)

    def _ids(self, count: int) -> tuple[int, ...]:
        return tuple(self._chance.randrange(10, self._vocabulary) for _ in range(count))

    @property
    def listens(self) -> bool:
        """Whether the next unit does. The first append is the context, and does."""
        return self._number == 0 or self._number % LISTENS_EVERY == 0

    def next(self) -> Append:
        """The next append: the whole context first."""
        listens, number = self.listens, self._number
        self._number += 1
        pieces: tuple[Piece, ...]
        if number:
            pieces = ((CHUNK_END, UNIT_END, UNIT_BEGIN), self._sounds[number % SOUNDS])
        else:
            pieces = (self._ids(self._context - 1),)
        speaking = Drawing(
            temperature=0.7,
            top_p=0.8,
            top_k=20,
            repetition_penalty=1.05,
            recent=tuple(self._recent),
            banned=(LISTEN, CHUNK_END),
            last=CHUNK_END,
            seed=self._seed,
            place=number,
        )
        return Append(
            number=number,
            pieces=pieces,
            max_tokens=1 if listens else SPOKEN,
            stop=STOP,
            drawing=LISTENING if listens else speaking,
        )

    def decoded(self, tokens: list[int]) -> None:
        self._recent = [*self._recent, *tokens][-MOST_RECENT:]


def phase(number: int, sessions: int) -> float:
    """When in a second this one's unit is, where they are spread."""
    return number * UNIT_S / sessions


Unit = Callable[[int], Awaitable[Told]]
"""One unit of the session of that number."""


async def paced(sessions: int, units: int, unit: Unit, *, spread: bool) -> list[Told]:
    """A unit each second; who is late begins the next one late."""
    began = time.monotonic() + 0.1

    async def session(number: int) -> list[Told]:
        told = []
        first = began + (phase(number, sessions) if spread else 0.0)
        for nth in range(units):
            await asyncio.sleep(max(0.0, first + nth * UNIT_S - time.monotonic()))
            told.append(await unit(number))
        return told[UNCOUNTED:]

    return [one for of_session in await asyncio.gather(*map(session, range(sessions))) for one in of_session]
