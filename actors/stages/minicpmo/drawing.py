"""The rules by which the thinker's next token is chosen, as data and as a reference in numpy.

Both thinkers (vLLM, torch) choose by these rules, and tests hold them to `choose`. What is chosen depends on
the logits, the rules, the tokens of the segment so far and two numbers, and on nothing else: not on a batch,
not on a generator that remembers.

In order, for each token:

1. A token that is *forced* is taken without a look at the logits: what must follow the one before, else the
   segment's last where its tokens or its characters are used up.
2. The first token of a segment may be restricted to `first`. `banned` tokens are never taken.
3. The *boundary draw* (MiniCPM-o 4.5): from all that is left, by temperature alone. It counts only where it
   falls on one of `boundary`, and that is the token. Else those of `banned_later` are out, too.
4. The draw proper: repetition penalty, temperature, top-k, top-p. Temperature 0 takes the likeliest.
5. What was chosen may be *rewritten*.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Logits = NDArray[np.float32]
MOST_RECENT = 512
"""Decoded tokens that the repetition penalty counts, over segments (vllm_omni 0.30)."""


class Drawing(Struct, frozen=True, kw_only=True):
    """How the tokens of one segment are drawn. The defaults are greedy and without any rule."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    """0: all."""
    repetition_penalty: float = 1.0
    recent: tuple[int, ...] = ()
    """What the session decoded before this segment, newest last; with the segment's own tokens the last
    `penalty_window` of them are penalised. Appended and discarded tokens are not in it."""
    penalty_window: int = MOST_RECENT
    first: tuple[int, ...] = ()
    """What the first token may be; (): anything."""
    banned: tuple[int, ...] = ()
    boundary: tuple[int, ...] = ()
    banned_later: tuple[int, ...] = ()
    rewrites: tuple[tuple[int, int], ...] = ()
    """(drawn, taken instead). Forced tokens are not rewritten, nor are those before `rewrites_from`."""
    rewrites_from: int = 0
    follows: tuple[tuple[int, int], ...] = ()
    """(token, the one that is forced right behind it)."""
    last: int | None = None
    """The last of `max_tokens`, and what follows when `most_characters` are reached; None: no rule."""
    most_characters: int = 0
    """0: not counted."""
    seed: int = 0
    place: int = 0
    """Which segment of its session this is, however often the context was given anew: with the seed and the
    token's index it says which numbers it is drawn by."""


def forced(
    drawing: Drawing, drawn: Sequence[int], max_tokens: int, characters: Mapping[int, int] | Sequence[int]
) -> int | None:
    """The token that must come next, if one must. `drawn` are the segment's tokens so far; `characters` says
    how many characters a token has."""
    for token, following in drawing.follows if drawn else ():
        if drawn[-1] == token:
            return following
    if drawing.last is None:
        return None
    if len(drawn) == max_tokens - 1:
        return drawing.last if drawn or not drawing.first else None
    if drawing.most_characters and sum(characters[token] for token in drawn) >= drawing.most_characters:
        return drawing.last
    return None


def numbers(drawing: Drawing, index: int) -> tuple[float, float]:
    """Two numbers in [0, 1) for the token at `index` of a segment: for the boundary draw, and for the draw
    proper. Philox, keyed by the session's seed."""
    philox = np.random.Philox(key=drawing.seed, counter=[0, 0, drawing.place, index])
    generator = np.random.Generator(philox)
    boundary, proper = generator.random(2)
    return float(boundary), float(proper)


def choose(logits: Logits, drawing: Drawing, drawn: Sequence[int], number: tuple[float, float]) -> int:
    """The next token where none is forced.

    Args:
        logits: Shape (vocabulary,), float32; not modified.
        drawn: The tokens of the segment so far.
        number: Of `numbers`.
    """
    scores = logits.astype(np.float64)
    if drawing.first and not drawn:
        scores = _only(scores, drawing.first)
    scores[list(drawing.banned)] = -np.inf
    boundary = _boundary(scores, drawing, number[0])
    if boundary is not None:
        return boundary
    scores[list(drawing.banned_later)] = -np.inf
    penalised(scores, drawing, drawn)
    token = _drawn(scores, drawing, number[1])
    return token if len(drawn) < drawing.rewrites_from else dict(drawing.rewrites).get(token, token)


def penalised(scores: NDArray[np.float64], drawing: Drawing, drawn: Sequence[int]) -> None:
    """Once for each token that was decoded, however often it was (Keskar et al. 2019, as in transformers)."""
    if drawing.repetition_penalty == 1.0:
        return
    counted = sorted(set((*drawing.recent, *drawn)[-drawing.penalty_window :]))
    found = scores[counted]
    penalty = drawing.repetition_penalty
    scores[counted] = np.where(found > 0, found / penalty, found * penalty)


def _boundary(scores: NDArray[np.float64], drawing: Drawing, number: float) -> int | None:
    ends = [token for token in drawing.boundary if np.isfinite(scores[token])]
    if not ends:
        return None
    if drawing.temperature == 0:
        best = int(scores.argmax())
        return best if best in ends else None
    likely = np.exp((scores - scores.max()) / drawing.temperature)
    passed = np.cumsum(likely[ends] / likely.sum())
    place = int(np.searchsorted(passed, number, side="right"))
    return ends[place] if place < len(ends) else None


def _drawn(scores: NDArray[np.float64], drawing: Drawing, number: float) -> int:
    if drawing.temperature == 0:
        return int(scores.argmax())
    kept = np.argsort(-scores, kind="stable")[: drawing.top_k or None]
    likely = np.exp((scores[kept] - scores[kept[0]]) / drawing.temperature)
    likely /= likely.sum()
    before = np.cumsum(likely) - likely
    inside = before < drawing.top_p  # the likeliest is always in
    passed = np.cumsum(np.where(inside, likely, 0.0))
    place = int(np.searchsorted(passed, number * passed[-1], side="right"))
    return int(kept[min(place, int(inside.sum()) - 1)])


def _only(scores: NDArray[np.float64], allowed: Sequence[int]) -> NDArray[np.float64]:
    kept = np.full_like(scores, -np.inf)
    kept[list(allowed)] = scores[list(allowed)]
    return kept
