"""Word error rate, as the benchmark counts it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.words import edits, normal, word_error_rate

SENTENCE = st.lists(st.sampled_from(["a", "b", "c"]), max_size=8)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What's that, Mr. Smith?", ["what's", "that", "mr", "smith"]),
        ("cold-hearted", ["cold", "hearted"]),
        ("There are 7 days", ["there", "are", "seven", "days"]),
        ("in 1984", ["in", "1984"]),
        ("it’s “fine”", ["it's", "fine"]),
        ("", []),
    ],
)
def test_words_are_compared_without_case_and_punctuation(text: str, words: list[str]) -> None:
    assert normal(text) == words


def test_the_rate_counts_words_and_not_sentences() -> None:
    assert word_error_rate([("one two three", "one two"), ("four", "four")]) == 0.25


def test_of_nothing_there_is_no_rate() -> None:
    assert word_error_rate([]) is None
    assert word_error_rate([("", "something")]) is None


@given(SENTENCE, SENTENCE)
def test_edits_are_a_distance(one: list[str], other: list[str]) -> None:
    assert edits(one, other) == edits(other, one)
    assert (edits(one, other) == 0) == (one == other)
    assert abs(len(one) - len(other)) <= edits(one, other) <= max(len(one), len(other))
