"""Parts of a model that is not there: numbers for its special tokens, embeddings that say which they are."""

from __future__ import annotations

import numpy as np

from antiphon.actors.stages.minicpmo.layout import AUDIO_POSITIONS, IMAGE_POSITIONS, unit
from antiphon.actors.stages.minicpmo.mind import Rules
from antiphon.actors.stages.minicpmo.segments import Budget
from antiphon.actors.stages.minicpmo.specials import NAMES, Specials, resolve
from antiphon.actors.stages.minicpmo.thinker import Embeddings, Piece
from antiphon.actors.stages.minicpmo.window import Window

FIRST_SPECIAL = 1000
HIDDEN = 4
SPECIALS: Specials = resolve({name: FIRST_SPECIAL + place for place, name in enumerate(NAMES.values())}.get)


def embedded(mark: float, positions: int = AUDIO_POSITIONS) -> Embeddings:
    return np.full((positions, HIDDEN), mark, np.float32)


def heard(mark: float, images: int = 0) -> tuple[Piece, ...]:
    return unit(SPECIALS, embedded(mark), [embedded(-mark, IMAGE_POSITIONS)] * images)


def rules(most: int = 4096, window: Window | None = None) -> Rules:
    return Rules(specials=SPECIALS, budget=Budget(), window=window or Window(), most=most)


def flat(pieces: tuple[Piece, ...]) -> list[object]:
    """One entry for each position."""
    return [one if isinstance(piece, tuple) else float(one[0]) for piece in pieces for one in piece]
