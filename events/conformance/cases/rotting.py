"""A byte in the middle that is not what was written: found, said, never shown, and nothing is repaired."""

from __future__ import annotations

import random

import pytest

from antiphon.events.conformance import needs
from antiphon.events.conformance.filled import BATCHES, DRAFTS, FIRSTS, Filled
from antiphon.events.conformance.under_test import StoreUnderTest
from antiphon.events.errors import Corrupt, LogError
from antiphon.events.store import Expect

MIDDLE = (1, 3)
"""Batches every byte of which is damaged."""


def _flipped(content: bytes, at: int, bit: int) -> bytes:
    return content[:at] + bytes([content[at] ^ (1 << bit)]) + content[at + 1 :]


class Rotting:
    """Damaged bytes in files that are otherwise whole."""

    def test_any_damaged_byte_in_the_middle_is_found_and_nothing_is_repaired(
        self, store: StoreUnderTest
    ) -> None:
        filled = Filled(store)
        first, last = MIDDLE
        for file, whole in enumerate(filled.whole):
            for at in range(filled.ends[first][file], filled.ends[last][file]):
                damaged = _flipped(whole, at, at % 8)
                filled.put_one(file, damaged)
                with needs.beside(store) as reader, pytest.raises(Corrupt):
                    filled.check(reader.log)
                with needs.beside(store) as writer:
                    self._assert_not_cut(writer, filled)
                assert filled.contents()[file] == damaged

    def _assert_not_cut(self, store: StoreUnderTest, filled: Filled) -> None:
        """A log that is damaged in the middle is not opened, unless all of its events are there."""
        try:
            lease, head = store.open(filled.session, Expect.RESUME)
        except Corrupt:
            return
        assert head.next_seq == len(DRAFTS)
        store.log.release(lease)

    def test_what_precedes_the_damage_is_still_read(self, store: StoreUnderTest) -> None:
        filled = Filled(store)
        last = len(filled.paths) - 1
        for n in range(1, len(BATCHES) - 1):
            filled.put_one(last, _flipped(filled.whole[last], filled.ends[n][last] + 9, 3))
            with needs.beside(store) as reader:
                reading = reader.log.read(filled.session)
                assert [next(reading).seq for _ in range(FIRSTS[n])] == list(range(FIRSTS[n]))
                with pytest.raises(Corrupt):
                    next(reading)

    def test_a_batch_gone_from_the_middle_is_missed(self, store: StoreUnderTest) -> None:
        filled = Filled(store)
        last = len(filled.paths) - 1
        whole, start, end = filled.whole[last], filled.ends[2][last], filled.ends[3][last]
        filled.put_one(last, whole[:start] + whole[end:])
        with needs.beside(store) as reader, pytest.raises(Corrupt):
            filled.check(reader.log)
        with needs.beside(store) as writer, pytest.raises(Corrupt):
            writer.open(filled.session, Expect.RESUME)

    @pytest.mark.parametrize("flips", [200, pytest.param(10_000, marks=pytest.mark.campaign)])
    def test_a_bit_anywhere_is_never_shown_as_something_else(self, store: StoreUnderTest, flips: int) -> None:
        filled = Filled(store)
        rng = random.Random(7)
        for _ in range(flips):
            file = rng.randrange(len(filled.paths))
            at = rng.randrange(filled.ends[0][file], len(filled.whole[file]))
            filled.put_one(file, _flipped(filled.whole[file], at, rng.randrange(8)))
            with needs.beside(store) as reader:
                try:
                    count = filled.check(reader.log)
                except LogError:
                    continue
            # Only the last batch can pass for a write that was not finished.
            assert count == FIRSTS[-2]
            assert at >= filled.ends[-2][file]
