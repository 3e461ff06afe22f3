"""Readiness: every shape that an append may need is driven once before the first session is admitted.

Kernels are compiled, loaded and chosen at their first use; met in live traffic that was a stall of seconds.
"""

from __future__ import annotations

from collections.abc import Callable
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
_SPEAKING = Drawing(
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
_GREEDY = Drawing(last=_STOP)
_LISTENING = Drawing(first=(_STOP,))
ROUNDS = (
    (_SPEAKING, _SPEAKING),
    (_GREEDY, _GREEDY),
    (_LISTENING, _LISTENING),
    (_SPEAKING, _LISTENING),
    (_LISTENING, _SPEAKING),
)
"""How the sessions of a batch draw in each round: every other one by the second."""
MOST_TOKENS = 8


def warm(thinker: Thinker, most_tokens: int, progress: Callable[[str], None]) -> None:
    """`most_tokens`: of an append. Raises ThinkerDied, or TimeoutError where an append never ends."""
    most = thinker.facts.places
    for sessions in (*(batch for batch in BATCHES if batch < most), most):
        progress(f"warming vLLM: {sessions} of {most} sessions")
        keys = [f"warm-{number}" for number in range(sessions)]
        for key in keys:
            thinker.open(key).result()
        for number, drawings in enumerate(ROUNDS):
            begun = [
                _run(thinker, key, _append(thinker.facts, number, drawings[place % 2], most_tokens))
                for place, key in enumerate(keys)
            ]
            for ended in begun:
                ended.result(ENOUGH_S)
        for key in keys:
            thinker.close(key).result(ENOUGH_S)


def _append(facts: Facts, number: int, drawing: Drawing, most_tokens: int) -> Append:
    """With sound in it, but for the first."""
    pieces: tuple[Piece, ...] = ((_STOP, _OTHER), (_OTHER,))
    if number:
        pieces = (pieces[0], np.zeros((4, facts.hidden), np.float32), pieces[1])
    tokens = 1 if drawing is _LISTENING else min(MOST_TOKENS, most_tokens)
    return Append(number=number, pieces=pieces, max_tokens=tokens, stop=frozenset((_STOP,)), drawing=drawing)


def _run(thinker: Thinker, key: str, append: Append) -> Future[None]:
    ended: Future[None] = Future()

    def said(what: Token | SegmentEnded | ThinkerDied) -> None:
        if isinstance(what, ThinkerDied):
            ended.set_exception(what)
        elif isinstance(what, SegmentEnded):
            ended.set_result(None)

    thinker.append(key, append, said)
    return ended
