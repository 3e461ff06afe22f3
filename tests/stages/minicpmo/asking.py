"""A thinker's caller, in tests: one thread, everything waited for."""

from __future__ import annotations

import queue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from antiphon.actors.stages.minicpmo.drawing import Drawing
from antiphon.actors.stages.minicpmo.thinker import Append, Piece, SegmentEnded, Thinker, ThinkerDied, Token

PATIENCE_S = 60.0


class Asked:
    """One session. `open` opens it."""

    def __init__(self, thinker: Thinker, key: str) -> None:
        self.thinker, self.key = thinker, key
        self.appended = 0
        self.said: queue.Queue[Any] = queue.Queue()

    def open(self) -> Asked:
        self.thinker.open(self.key).result(PATIENCE_S)
        return self

    def begin(
        self,
        *pieces: Piece,
        max_tokens: int = 8,
        stop: frozenset[int] = frozenset(),
        drawing: Drawing | None = None,
    ) -> None:
        append = Append(
            number=self.appended,
            pieces=pieces,
            max_tokens=max_tokens,
            stop=stop,
            drawing=drawing or Drawing(),
        )
        self.thinker.append(self.key, append, self.said.put)
        self.appended += 1

    def ended(self) -> tuple[list[int], SegmentEnded]:
        tokens: list[int] = []
        while True:
            said = self.said.get(timeout=PATIENCE_S)
            if isinstance(said, Token):
                tokens.append(said.id)
            elif isinstance(said, ThinkerDied):
                raise said
            else:
                return tokens, said

    def segment(self, *pieces: Piece, **how: Any) -> tuple[list[int], SegmentEnded]:
        self.begin(*pieces, **how)
        return self.ended()

    def close(self) -> None:
        self.thinker.close(self.key).result(PATIENCE_S)


Rows = NDArray[np.float32]
