"""The drawing rules on torch, over a batch, held to the reference that takes one row at a time."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.actors.stages.minicpmo import drawing as reference
from antiphon.actors.stages.minicpmo.drawing import Drawing
from antiphon.actors.stages.vllm_streaming.choosing import choose, placed
from antiphon.actors.stages.vllm_streaming.rows import Asked, Row, plan, step

pytestmark = pytest.mark.vllm

VOCABULARY = 24
TOKEN = st.integers(0, VOCABULARY - 1)
TOKENS = st.lists(TOKEN, max_size=4).map(tuple)
SPECIAL = st.integers(0, 5)
"""Banned tokens are among these, so that something is always left."""
RULES = st.builds(
    Drawing,
    temperature=st.sampled_from([0.0, 0.3, 1.0]),
    top_p=st.sampled_from([0.2, 0.8, 1.0]),
    top_k=st.sampled_from([0, 1, 5, 40]),
    repetition_penalty=st.sampled_from([1.0, 1.05, 2.0]),
    recent=TOKENS,
    penalty_window=st.integers(1, 6),
    first=st.lists(st.integers(6, VOCABULARY - 1), max_size=3).map(tuple),
    banned=st.lists(SPECIAL, max_size=2).map(tuple),
    boundary=st.lists(TOKEN, max_size=3, unique=True).map(tuple),
    banned_later=st.lists(SPECIAL, max_size=2).map(tuple),
    rewrites=st.lists(st.tuples(TOKEN, TOKEN), max_size=3).map(tuple),
    rewrites_from=st.integers(0, 2),
    follows=st.lists(st.tuples(TOKEN, TOKEN), max_size=2).map(tuple),
    last=st.none() | TOKEN,
    most_characters=st.sampled_from([0, 3]),
    seed=st.integers(0, 2**63 - 1),
    place=st.integers(0, 9),
)
ROW = st.none() | st.tuples(RULES, st.lists(TOKEN, max_size=4))
CHARACTERS = [token % 3 for token in range(VOCABULARY)]
MOST = 5


def expected(logits: np.ndarray, rules: Drawing, drawn: list[int]) -> int:
    forced = reference.forced(rules, drawn, MOST, CHARACTERS)
    if forced is not None:
        return forced
    return reference.choose(logits, rules, drawn, reference.numbers(rules, len(drawn)))


@settings(max_examples=500, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=5), st.integers(0, 2**32))
def test_a_batch_draws_what_each_row_would_draw_alone(asked, seed):
    logits = np.random.default_rng(seed).normal(0, 3, (len(asked), VOCABULARY)).astype(np.float32)
    rows = [row and Row(Asked(0, MOST, row[0]), row[1], VOCABULARY) for row in asked]
    planned = plan(rows, VOCABULARY)
    cpu = torch.device("cpu")
    drawn = choose(
        torch.from_numpy(logits), planned, placed(planned, cpu), step(rows, planned, CHARACTERS, VOCABULARY)
    )
    for token, row, of_row in zip(drawn.tolist(), asked, logits, strict=True):
        assert row is None or token == expected(of_row, *row)
