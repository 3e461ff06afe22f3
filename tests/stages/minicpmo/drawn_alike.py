"""Rules of every kind for rows of a batch, and what the reference (minicpmo.drawing) draws of each alone: whatever
draws for a batch is held to that."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from antiphon.actors.stages.minicpmo import drawing as reference
from antiphon.actors.stages.minicpmo.drawing import Drawing

VOCABULARY = 24
CHARACTERS = [token % 3 for token in range(VOCABULARY)]
MOST = 5
"""Tokens of a segment."""
_TOKEN = st.integers(0, VOCABULARY - 1)
_TOKENS = st.lists(_TOKEN, max_size=4).map(tuple)
_SPECIAL = st.integers(0, 5)
"""Banned tokens are among these, so that something is always left."""
_LIKELY = st.integers(0, 8)
"""More often drawn than others, so that rules about them are often met."""
_RULES = st.builds(
    Drawing,
    temperature=st.sampled_from([0.0, 0.3, 1.0]),
    top_p=st.sampled_from([0.2, 0.8, 1.0]),
    top_k=st.sampled_from([0, 1, 5, 40]),
    repetition_penalty=st.sampled_from([1.0, 1.05, 2.0]),
    recent=_TOKENS,
    penalty_window=st.integers(1, 6),
    first=st.lists(st.integers(6, VOCABULARY - 1), max_size=3).map(tuple),
    banned=st.lists(_SPECIAL, max_size=2).map(tuple),
    boundary=st.lists(_LIKELY, max_size=3, unique=True).map(tuple),
    banned_later=st.lists(_SPECIAL, max_size=2).map(tuple),
    rewrites=st.lists(st.tuples(_LIKELY, _TOKEN), max_size=3).map(tuple),
    rewrites_from=st.integers(0, 2),
    follows=st.lists(st.tuples(_TOKEN, _TOKEN), max_size=2).map(tuple),
    last=st.none() | _TOKEN,
    most_characters=st.sampled_from([0, 3]),
    seed=st.integers(0, 2**63 - 1),
    place=st.integers(0, 9),
)
Row = tuple[Drawing, list[int]]
"""Its rules, and the tokens of its segment so far."""
ROW: st.SearchStrategy[Row] = st.tuples(_RULES, st.lists(_TOKEN, max_size=MOST - 1))
SEED = st.integers(0, 2**32)
Logits = NDArray[np.float32]
Draw = Callable[[Logits, Sequence[Row | None]], Sequence[int]]
"""Of logits, shape (rows, VOCABULARY): a token for each row; of one that is None, any."""


def check(draw: Draw, rows: Sequence[Row | None], seed: int) -> None:
    logits = np.random.default_rng(seed).normal(0, 3, (len(rows), VOCABULARY)).astype(np.float32)
    logits[:, :9] += 3
    drawn = draw(logits, rows)
    assert len(drawn) == len(rows)
    for token, row, of_row in zip(drawn, rows, logits, strict=True):
        assert row is None or token == _alone(of_row, *row)


def _alone(logits: Logits, rules: Drawing, drawn: list[int]) -> int:
    must = reference.forced(rules, drawn, MOST, CHARACTERS)
    if must is not None:
        return must
    return reference.choose(logits, rules, drawn, reference.numbers(rules, len(drawn)))
