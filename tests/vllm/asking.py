"""Ask a thinker and wait for what it says."""

from __future__ import annotations

import queue
from collections.abc import Sequence

from antiphon.actors.stages.minicpmo.drawing import Drawing
from antiphon.actors.stages.minicpmo.thinker import (
    Append,
    Piece,
    SegmentEnded,
    Thinker,
    ThinkerDied,
    Token,
)

LONG_ENOUGH_S = 120.0


class Said:
    """What is said of one append."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Token | SegmentEnded | ThinkerDied] = queue.Queue()
        self.tokens: list[int] = []

    def __call__(self, what: Token | SegmentEnded | ThinkerDied) -> None:
        self._queue.put(what)

    def next(self) -> Token | SegmentEnded | ThinkerDied:
        what = self._queue.get(timeout=LONG_ENOUGH_S)
        if isinstance(what, Token):
            self.tokens.append(what.id)
        return what

    def ended(self) -> SegmentEnded:
        while True:
            what = self.next()
            if isinstance(what, ThinkerDied):
                raise what
            if isinstance(what, SegmentEnded):
                assert self._queue.empty()
                return what


class Talk:
    """One opening of a session, which counts its appends."""

    def __init__(self, thinker: Thinker, key: str) -> None:
        self.thinker, self.key, self.number = thinker, key, 0
        thinker.open(key).result(LONG_ENOUGH_S)

    def begin(
        self,
        *pieces: Piece | Sequence[int],
        max_tokens: int = 8,
        stop: Sequence[int] = (),
        drawing: Drawing | None = None,
    ) -> Said:
        said = Said()
        given = tuple(tuple(piece) if isinstance(piece, list | range) else piece for piece in pieces)
        append = Append(
            number=self.number,
            pieces=given,  # type: ignore[arg-type]
            max_tokens=max_tokens,
            stop=frozenset(stop),
            drawing=drawing or Drawing(),
        )
        self.thinker.append(self.key, append, said)
        self.number += 1
        return said

    def say(self, *pieces: Piece | Sequence[int], **how: object) -> tuple[list[int], SegmentEnded]:
        said = self.begin(*pieces, **how)  # type: ignore[arg-type]
        ended = said.ended()
        return said.tokens, ended

    def close(self) -> None:
        self.thinker.close(self.key).result(LONG_ENOUGH_S)
