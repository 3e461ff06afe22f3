"""Readiness: every shape that an append may need is driven once before the first session is admitted.

Kernels are compiled, loaded and chosen at their first use; met in live traffic that was a stall of seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future

import numpy as np

from antiphon.actors.stages.minicpmo.drawing import Drawing
from antiphon.actors.stages.minicpmo.thinker import (
    Append,
    Facts,
    Piece,
    SegmentEnded,
    Thinker,
    ThinkerDied,
    Token,
)

BATCHES = (1, 4, 16)
ENOUGH_S = 600.0
_STOP, _OTHER = 2, 3


def warm(thinker: Thinker, progress: Callable[[str], None]) -> None:
    """Raises ThinkerDied, or TimeoutError where an append never ends."""
    most = thinker.facts.places
    for sessions in (*(batch for batch in BATCHES if batch < most), most):
        progress(f"warming vLLM: {sessions} of {most} sessions")
        keys = [f"warm-{number}" for number in range(sessions)]
        for key in keys:
            thinker.open(key).result()
        for append in _shapes(thinker.facts):
            for ended in [_run(thinker, key, append) for key in keys]:
                ended.result(ENOUGH_S)
        for key in keys:
            thinker.close(key).result(ENOUGH_S)


def _shapes(facts: Facts) -> Iterator[Append]:
    """A segment that speaks by all rules, one that is greedy, and one that is made to listen."""
    heard = np.zeros((4, facts.hidden), np.float32)
    speaking = Drawing(
        temperature=0.7,
        top_p=0.8,
        top_k=20,
        repetition_penalty=1.05,
        recent=(_OTHER,),
        banned=(0,),
        boundary=(1,),
        banned_later=(1,),
        rewrites=((0, _OTHER),),
        last=_STOP,
        most_characters=1000,
    )
    listening = Drawing(first=(_STOP,))
    for number, (drawing, tokens) in enumerate(((speaking, 8), (Drawing(last=_STOP), 4), (listening, 1))):
        pieces: tuple[Piece, ...] = ((_STOP, _OTHER), heard, (_OTHER,))
        yield Append(
            number=number, pieces=pieces, max_tokens=tokens, stop=frozenset((_STOP,)), drawing=drawing
        )


def _run(thinker: Thinker, key: str, append: Append) -> Future[None]:
    ended: Future[None] = Future()

    def said(what: Token | SegmentEnded | ThinkerDied) -> None:
        if isinstance(what, ThinkerDied):
            ended.set_exception(what)
        elif isinstance(what, SegmentEnded):
            ended.set_result(None)

    thinker.append(key, append, said)
    return ended
