"""The codec tokens of one chunk: which appends the talker is given, one after the other. Pure.

A chunk is 25 codes, a second, and then the codec's end, whether it was drawn before or not. The chunk that
ends a turn may take four times as long; in its first five steps behind each second the codec may not end.

The last code of an append was drawn and not fed (thinker.py). It is sent again with what follows it: the next
append of the chunk, or the chunk behind it, which begins with what this one has left unfed (`carried`). So in
the talker's context there stands, for each chunk of a turn, CONDITION CODES END.

Source: vllm_omni 0.30 (temperature 0.8, top-p 0.85, top-k 25, penalty 1.05 over 16 frames; 25 codes and the
terminator, 26 for a unit).
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from .drawing import Drawing
from .handing import CODES_PER_CHUNK, MASKED_STEPS, most_codes
from .shapes import CODE_END, CODE_SILENCE
from .thinker import Append, Embeddings, Piece

PENALISED = 16
SHORTEST = 5
"""Codes that a vocoder is given at least: shorter sound is filled up with silence."""


class Voicing(Struct, frozen=True, kw_only=True):
    """One chunk under way. `recent`: codes of the turn before it; `carried`: what of them, and of their end,
    is not in the talker's context."""

    condition: Embeddings
    last: bool
    seed: int
    carried: tuple[int, ...] = ()
    recent: tuple[int, ...] = ()
    codes: tuple[int, ...] = ()
    appended: int = 0
    """Number of the next append."""
    place: int = 0
    """How many segments the session's talker has drawn."""
    ended: bool = False


def next_append(voicing: Voicing) -> Append | None:
    """None: the chunk is whole."""
    count = len(voicing.codes)
    if voicing.ended or count >= most_codes(last=voicing.last):
        return None
    masked = count >= CODES_PER_CHUNK and count % CODES_PER_CHUNK == 0
    left = MASKED_STEPS if masked else CODES_PER_CHUNK - count % CODES_PER_CHUNK
    return Append(
        number=voicing.appended,
        pieces=_begins(voicing) if not count else ((voicing.codes[-1],),),
        max_tokens=left,
        stop=frozenset((CODE_END,)),
        drawing=Drawing(
            temperature=0.8,
            top_p=0.85,
            top_k=25,
            repetition_penalty=1.05,
            penalty_window=PENALISED,
            recent=(*voicing.recent, *voicing.codes)[-PENALISED:],
            banned=(CODE_END,) if masked else (),
            seed=voicing.seed,
            place=voicing.place,
        ),
    )


def _begins(voicing: Voicing) -> tuple[Piece, ...]:
    return (voicing.carried, voicing.condition) if voicing.carried else (voicing.condition,)


def room(voicing: Voicing) -> int:
    """Positions of the talker's context that the chunk may take."""
    return len(voicing.carried) + len(voicing.condition) + most_codes(last=voicing.last) + 2


def drawn(voicing: Voicing, tokens: tuple[int, ...]) -> Voicing:
    """When an append has ended."""
    return replace(
        voicing,
        codes=(*voicing.codes, *(token for token in tokens if token != CODE_END)),
        appended=voicing.appended + 1,
        place=voicing.place + 1,
        ended=CODE_END in tokens,
    )


def unfed(voicing: Voicing) -> tuple[int, ...]:
    """Of a whole chunk: what the next one of its turn must begin with."""
    return (CODE_END,) if voicing.ended else (voicing.codes[-1], CODE_END)


def body(voicing: Voicing) -> tuple[int, ...]:
    """What the vocoder is given of a whole chunk: nothing, or SHORTEST codes at least."""
    missing = SHORTEST - len(voicing.codes) if voicing.codes else 0
    return voicing.codes + (CODE_SILENCE,) * missing
