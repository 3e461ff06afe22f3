"""What an unfinished write leaves at the end of a file: the log ends at its last whole batch, exactly."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.events.conformance.filled import BATCHES, Filled
from antiphon.events.conformance.under_test import StoreUnderTest

from .reading import SHARED

TRIES = 30


def _unfinished(filled: Filled, batches: int, file: int, rng: random.Random) -> list[int]:
    """The sizes of all files when one more batch got as far as the middle of `file`."""
    before, after = filled.ends[batches], filled.ends[batches + 1]
    missing = rng.choice([1, 7, after[file] - before[file]])
    torn = max(before[file], after[file] - missing)
    return [*after[:file], torn, *before[file + 1 :]]


def _garbage(kind: str, filled: Filled, other: Filled, batches: int, file: int, rng: random.Random) -> bytes:
    """What a disk may have had behind so many batches before they were written."""
    if kind == "zeros":
        return bytes(rng.randrange(1, 5000))
    if kind == "random":
        return rng.randbytes(rng.randrange(1, 5000))
    n = rng.randrange(batches)
    begin, end = filled.ends[n][file], filled.ends[n + 1][file]
    if kind == "older frames of its own":
        return filled.whole[file][begin:end]
    return other.whole[file][rng.choice([0, begin]) :]


class Tearing:
    """Files cut short, and files with something at their ends that was there before."""

    def test_a_log_cut_at_any_byte_of_its_last_two_batches_ends_at_a_whole_batch(
        self, store: StoreUnderTest
    ) -> None:
        filled = Filled(store)
        for file, whole in enumerate(filled.whole):
            for size in range(filled.ends[-3][file], len(whole)):
                filled.put_one(file, whole[:size])
                sizes = [size if n == file else len(whole) for n, whole in enumerate(filled.whole)]
                filled.assert_ends_after(store, filled.whole_batches(sizes))

    @settings(max_examples=60, suppress_health_check=SHARED, deadline=None)
    @given(data=st.data())
    def test_files_cut_anywhere_and_not_at_the_same_moment_end_at_a_whole_batch(
        self, store: StoreUnderTest, data: st.DataObject
    ) -> None:
        filled = Filled(store)
        least = filled.ends[1]
        sizes = [data.draw(st.integers(least[n], len(whole))) for n, whole in enumerate(filled.whole)]
        filled.put([whole[:size] for whole, size in zip(filled.whole, sizes, strict=True)])
        filled.assert_ends_after(store, filled.whole_batches(sizes))

    @pytest.mark.parametrize("kind", ["zeros", "random", "older frames of its own", "frames of another log"])
    def test_what_the_disk_had_there_before_is_never_taken_for_the_log(
        self, store: StoreUnderTest, kind: str
    ) -> None:
        filled, other = Filled(store), Filled(store)
        rng = random.Random(kind)
        for _ in range(TRIES):
            batches, file = rng.randrange(1, len(BATCHES)), rng.randrange(len(filled.paths))
            sizes = _unfinished(filled, batches, file, rng)
            contents = [whole[:size] for whole, size in zip(filled.whole, sizes, strict=True)]
            contents[file] += _garbage(kind, filled, other, batches, file, rng)
            filled.put(contents)
            by_chance = filled.is_whole(contents, batches + 1)  # a last zero missed and a zero found
            filled.assert_ends_after(store, batches + by_chance)
