"""The numbers and the bookkeeping of the drawing rules over a batch, without torch."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from antiphon.actors.stages.minicpmo import drawing
from antiphon.actors.stages.minicpmo.drawing import Drawing
from antiphon.actors.stages.minicpmo.thinker import Append
from antiphon.actors.stages.vllm_streaming.inputs import MOST_POSITIONS, PLACEHOLDER, lay
from antiphon.actors.stages.vllm_streaming.philox import numbers
from antiphon.actors.stages.vllm_streaming.rows import Asked, Row, decode, encode

WORD = st.integers(0, 2**63 - 1)


@given(st.lists(st.tuples(WORD, st.integers(0, 2**32), st.integers(0, 2**16)), min_size=1, max_size=5))
def test_many_rows_have_the_numbers_of_each(asked):
    together = numbers(*np.array(asked, np.uint64).T)
    assert [tuple(row) for row in together] == [
        drawing.numbers(Drawing(seed=seed, place=place), index) for seed, place, index in asked
    ]


@given(st.integers(0, 40), st.integers(0, 30), st.integers(1, 20))
def test_what_is_penalised_are_the_last_tokens_over_segments(before, own, window):
    recent = tuple(range(before))
    drawn = list(range(5000, 5000 + own))
    row = Row(Asked(0, 64, Drawing(recent=recent, penalty_window=window)), drawn, vocabulary=9999)
    row.catch_up()
    assert {int(token) for token in row.recent} - {9999} == set((*recent, *drawn)[-window:])


def test_rules_travel_with_an_append_and_what_is_not_ours_is_told_apart():
    asked = Asked(3, 20, Drawing(temperature=0.7, rewrites=((1, 2),), last=4, seed=2**62))
    assert decode(encode(asked)) == asked
    assert decode(None) is None
    assert decode({"of others": 1}) is None


def test_embeddings_stand_where_they_were_put_and_long_ones_come_in_parts():
    short = np.ones((2, 4), np.float32)
    long = np.arange(4 * (MOST_POSITIONS + 3), dtype=np.float32).reshape(-1, 4)
    pieces = ((5, 6), short, (7,), long)
    laid = lay(Append(number=0, pieces=pieces, max_tokens=1, stop=frozenset(), drawing=Drawing()))
    assert laid.ids == [5, 6, *[PLACEHOLDER] * 2, 7, *[PLACEHOLDER] * len(long)]
    assert [(offset, len(part)) for offset, part in laid.embeddings] == [
        (2, 2),
        (5, MOST_POSITIONS),
        (5 + MOST_POSITIONS, 3),
    ]
    assert np.array_equal(np.concatenate([part for _, part in laid.embeddings[1:]]), long)
