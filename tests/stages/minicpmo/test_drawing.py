"""The rules by which tokens are drawn, against their definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from antiphon.actors.stages.minicpmo.drawing import MOST_RECENT, Drawing, choose, forced, numbers

CHUNK_EOS, TURN_EOS, LISTEN, TTS_BOS, PAD = 0, 1, 2, 3, 4
SIZE = 12
SAMPLED = Drawing(temperature=0.7, top_p=0.8, top_k=5, repetition_penalty=1.05, seed=7)
UNIT = [0] * 5 + [4] * 7  # characters of each token

logits = st.lists(st.floats(-8, 8, width=32), min_size=SIZE, max_size=SIZE).map(
    lambda values: np.array(values, np.float32)
)
number = st.tuples(st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True))


def favouring(token: int, by: float = 9.0) -> np.ndarray:
    scores = np.zeros(SIZE, np.float32)
    scores[token] = by
    return scores


@settings(deadline=None)
@given(scores=logits, drawn_by=number)
def test_greedy_takes_the_likeliest_whatever_the_numbers_are(
    scores: np.ndarray, drawn_by: tuple[float, float]
):
    assert choose(scores, Drawing(), [], drawn_by) == scores.argmax()


@settings(deadline=None)
@given(scores=logits, drawn_by=number, banned=st.sets(st.integers(0, SIZE - 2)))
def test_what_is_banned_is_never_taken(scores: np.ndarray, drawn_by: tuple[float, float], banned: set[int]):
    ruled = replace(SAMPLED, banned=tuple(banned), boundary=(CHUNK_EOS,), banned_later=(CHUNK_EOS, PAD))
    assert choose(scores, ruled, [], drawn_by) not in banned


@settings(deadline=None)
@given(scores=logits, drawn_by=number)
def test_one_of_the_likeliest_k_is_taken(scores: np.ndarray, drawn_by: tuple[float, float]):
    taken = choose(scores, replace(SAMPLED, repetition_penalty=1.0), [], drawn_by)
    assert (scores > scores[taken]).sum() < SAMPLED.top_k


@settings(deadline=None)
@given(scores=logits, drawn_by=number)
def test_only_the_first_token_is_restricted(scores: np.ndarray, drawn_by: tuple[float, float]):
    ruled = replace(SAMPLED, first=(LISTEN,))
    assert choose(scores, ruled, [], drawn_by) == LISTEN
    assert choose(favouring(9), ruled, [LISTEN], (0.5, 0.5)) == 9


def test_draws_are_as_often_as_the_rules_say():
    scores = np.log(np.array([0.4, 0.3, 0.2, 0.1], np.float32))
    ruled = Drawing(temperature=1.0, top_p=0.85)
    taken = [choose(scores, ruled, [], (0.0, (place + 0.5) / 9000)) for place in range(9000)]
    assert np.bincount(taken, minlength=4).tolist() == [4000, 3000, 2000, 0]


def test_a_boundary_counts_only_when_the_unfiltered_draw_falls_on_it():
    scores = np.log(np.full(4, 0.25, np.float32))
    ruled = Drawing(temperature=1.0, top_k=1, boundary=(3,), banned_later=(3, 0))
    assert choose(scores, ruled, [], (0.24, 0.0)) == 3, "top_k does not filter the boundary draw"
    assert choose(scores, ruled, [], (0.26, 0.99)) == 1, "and behind it what is banned later is out"


def test_a_greedy_boundary_is_the_likeliest_of_all():
    ruled = Drawing(boundary=(CHUNK_EOS,), banned_later=(CHUNK_EOS, PAD))
    assert choose(favouring(CHUNK_EOS), ruled, [], (0, 0)) == CHUNK_EOS
    assert choose(favouring(PAD), ruled, [], (0, 0)) not in (CHUNK_EOS, PAD)


def test_the_penalty_counts_each_recent_token_once_and_no_older_ones():
    scores = np.zeros(SIZE, np.float32)
    scores[[8, 9]] = 1.0, 0.96
    ruled = Drawing(repetition_penalty=1.05)
    assert choose(scores, replace(ruled, recent=(8,)), [], (0, 0)) == 9
    assert choose(scores, replace(ruled, recent=(8,) * 9), [9] * 5, (0, 0)) == 8, "how often does not count"
    assert choose(scores, replace(ruled, recent=(8, *[7] * MOST_RECENT)), [], (0, 0)) == 8
    scores[[8, 9]] = -1.0, -1.04
    scores[:8] = scores[10:] = -9
    assert choose(scores, replace(ruled, recent=(8,)), [], (0, 0)) == 9, "below zero it multiplies"


def test_listening_in_an_open_turn_is_rewritten_unless_it_is_forced():
    open_turn = Drawing(rewrites=((LISTEN, TTS_BOS),))
    assert choose(favouring(LISTEN), open_turn, [], (0, 0)) == TTS_BOS
    assert forced(replace(open_turn, follows=((9, LISTEN),)), [9], 20, UNIT) == LISTEN


def test_before_a_turn_is_open_listening_is_not_rewritten():
    ruled = Drawing(rewrites=((LISTEN, TTS_BOS),), rewrites_from=1)
    assert choose(favouring(LISTEN), ruled, [], (0, 0)) == LISTEN
    assert choose(favouring(LISTEN), ruled, [9], (0, 0)) == TTS_BOS


def test_behind_a_turns_end_stands_a_chunks_end():
    ruled = Drawing(follows=((TURN_EOS, CHUNK_EOS),), last=CHUNK_EOS)
    assert forced(ruled, [8, TURN_EOS], 20, UNIT) == CHUNK_EOS
    assert forced(ruled, [8], 20, UNIT) is None


def test_the_last_token_of_a_unit_is_forced():
    ruled = Drawing(last=CHUNK_EOS)
    assert forced(ruled, [8] * 18, 20, UNIT) is None
    assert forced(ruled, [8] * 19, 20, UNIT) == CHUNK_EOS
    assert forced(ruled, [], 1, UNIT) == CHUNK_EOS
    assert forced(replace(ruled, first=(LISTEN,)), [], 1, UNIT) is None, (
        "where the first is restricted it stands"
    )


@pytest.mark.parametrize(("tokens", "expected"), [(6, None), (7, CHUNK_EOS)])
def test_a_unit_has_no_more_characters_than_it_may(tokens: int, expected: int | None):
    assert forced(Drawing(last=CHUNK_EOS, most_characters=28), [8] * tokens, 20, UNIT) == expected


@settings(deadline=None)
@given(seed=st.integers(0, 2**63 - 2), place=st.integers(0, 2**40), index=st.integers(0, 400))
def test_numbers_are_a_function_of_the_seed_and_the_place(seed: int, place: int, index: int):
    ruled = Drawing(seed=seed, place=place)
    here = numbers(ruled, index)
    assert here == numbers(ruled, index)
    assert all(0 <= one < 1 for one in here)
    others = [
        numbers(ruled, index + 1),
        numbers(replace(ruled, seed=seed + 1), index),
        numbers(replace(ruled, place=place + 1), index),
    ]
    assert here not in others
