"""What stands in the context: the session's own part, then units.

    <|im_start|>system\\n INSTRUCTIONS [\\n <|audio_start|> VOICE <|audio_end|>] <|im_end|> [EARLIER]
    <unit> [<image> 64 </image>]* 10 GENERATED </unit>
    <unit> ...

A unit is appended up to its audio; what it generated is in the context, but for its last token, the
terminator. That is sent again with the next append, before </unit> (thinker.py says why). So the first append
is the session's part, <unit> and 10 positions; each later one is 13, and 66 for each image.

Source: vllm_omni 0.30, MiniCPM-o 4.5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .specials import Specials
from .thinker import Embeddings, Piece

AUDIO_POSITIONS = 10
"""For a unit of 1 s: one for every 100 ms (mel hop 10 ms, convolution 2, pooling 5)."""
IMAGE_POSITIONS = 64
IMAGE_BLOCK = IMAGE_POSITIONS + 2
"""With <image> and </image>."""
UNIT_POSITIONS = AUDIO_POSITIONS + 3
"""What a unit adds in which the model listens: <unit>, the sound, <|listen|> and </unit>."""


class WrongLength(ValueError):
    """An encoder gave another number of positions than the layout has room for.

    Neither is harmless: what is too much stands as padding in the context and spoils the decision to listen
    or to speak, what is missing is lost without a word.
    """


def session_part(
    specials: Specials,
    tokens_of: Callable[[str], Sequence[int]],
    instructions: str,
    voice: Embeddings | None = None,
) -> tuple[Piece, ...]:
    """The context before the first unit, and before what was said in units that are no longer held.

    Args:
        tokens_of: The tokenizer, which must take special tokens in a text for the letters that they are.
        voice: The reference audio's embeddings, (n, hidden).
    """
    begins = (specials.im_start, *tokens_of(f"system\n{instructions}"))
    if voice is None:
        return joined(((*begins, specials.im_end),))
    opened = (*begins, *tokens_of("\n"), specials.audio)
    return joined((opened, voice, (specials.audio_end, specials.im_end)))


def unit(specials: Specials, audio: Embeddings, images: Sequence[Embeddings] = ()) -> tuple[Piece, ...]:
    """A unit up to its audio. Raises WrongLength."""
    pieces: list[Piece] = [(specials.unit,)]
    for image in images:
        _check("image", image, IMAGE_POSITIONS)
        pieces += [(specials.image,), image, (specials.image_end,)]
    _check("audio", audio, AUDIO_POSITIONS)
    return joined((*pieces, audio))


def after(specials: Specials, generated: Sequence[int]) -> tuple[Piece, ...]:
    """What a unit's end adds, where its tokens stand in the context or have to be put there again."""
    return ((*generated, specials.unit_end),)


def joined(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The same with neighbouring tokens in one piece."""
    whole: list[Piece] = []
    for piece in pieces:
        if len(piece) == 0:
            continue
        last = whole[-1] if whole else None
        if isinstance(piece, tuple) and isinstance(last, tuple):
            whole[-1] = last + piece
        else:
            whole.append(piece)
    return tuple(whole)


def positions(pieces: Sequence[Piece]) -> int:
    return sum(len(piece) for piece in pieces)


def _check(what: str, given: Embeddings, wanted: int) -> None:
    if len(given) != wanted:
        raise WrongLength(f"{len(given)} positions of {what}, a unit has {wanted}")
