"""How a unit's segment is drawn, and what it means.

* The first token decides: <|listen|>, or the model speaks. Where it must listen nothing else is allowed.
* A segment ends with <|listen|>, <|chunk_eos|> or <|chunk_tts_eos|>. <|turn_eos|> does not end it: the state
  behind it conditions the talker, so one more step is made, which is forced to be a chunk's end.
* While a turn is open the model does not listen: <|listen|> becomes <|tts_bos|>, unless it must listen. A
  turn is open from its first token until <|turn_eos|>.
* A unit has 20 tokens, the last of which is a chunk's end, and no more words than its second of sound has
  time for: 28 characters.

Source: vllm_omni 0.30, MiniCPM-o 4.5. Ours: the model cannot say what belongs to the layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from .drawing import MOST_RECENT, Drawing
from .specials import Specials


class Sampling(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a client may ask for. The defaults are the model's own."""

    temperature: Annotated[float, Meta(ge=0, le=2)] = 0.7
    top_p: Annotated[float, Meta(gt=0, le=1)] = 0.8
    top_k: Annotated[int, Meta(ge=1, le=1000)] = 20
    repetition_penalty: Annotated[float, Meta(ge=0.5, le=2)] = 1.05
    seed: Annotated[int, Meta(ge=0, le=2**62)] | None = None


class Budget(Struct, frozen=True, kw_only=True):
    """What a unit may say at most; the operator's."""

    tokens: int = 20
    characters: int = 28


class Segment(Struct, frozen=True):
    """What the tokens of a unit mean. `words` are those to be said, `places` where they stand in the
    segment."""

    listens: bool
    turn_ended: bool
    words: tuple[int, ...]
    places: tuple[int, ...]


def drawing(
    specials: Specials,
    sampling: Sampling,
    budget: Budget,
    *,
    recent: Sequence[int],
    open_turn: bool,
    force_listen: bool,
    place: int,
) -> Drawing:
    """`recent`: the tokens that the session decoded so far, newest last; `place`: how many units it heard."""
    if force_listen:
        return Drawing(first=(specials.listen,))
    return Drawing(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        repetition_penalty=sampling.repetition_penalty,
        recent=tuple(recent[-MOST_RECENT:]),
        banned=specials.structure,
        boundary=(specials.chunk_eos,),
        banned_later=(specials.tts_pad, specials.chunk_eos),
        rewrites=((specials.listen, specials.tts_bos),),
        rewrites_from=0 if open_turn else 1,
        follows=((specials.turn_eos, specials.chunk_eos),),
        last=specials.chunk_eos,
        most_characters=budget.characters,
        seed=sampling.seed or 0,
        place=place,
    )


def most_tokens(budget: Budget, *, force_listen: bool) -> int:
    return 1 if force_listen else budget.tokens


def read(specials: Specials, tokens: Sequence[int]) -> Segment:
    """`tokens`: of a whole segment, its terminator among them."""
    places = tuple(place for place, token in enumerate(tokens) if token not in specials.unsaid)
    return Segment(
        listens=specials.listen in tokens[:1],
        turn_ended=specials.turn_eos in tokens,
        words=tuple(tokens[place] for place in places),
        places=places,
    )


def is_open(before: bool, segment: Segment) -> bool:
    """Whether the turn is open behind a segment."""
    if segment.turn_ended or segment.listens:
        return False
    return before or bool(segment.words)


def remembered(specials: Specials, words: tuple[int, ...], *, ended: bool) -> tuple[int, ...]:
    """The tokens of a segment of which only the words are known."""
    if not words and not ended:
        return (specials.listen,)
    return (specials.speak, *words, *((specials.turn_eos,) if ended else ()), specials.chunk_eos)
