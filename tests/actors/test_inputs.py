"""Input that is had back from a log: what is to be heard again, and how little is read for it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from antiphon.actors.inputs import BLOCK, input_after, input_behind
from antiphon.events.envelope import Draft
from antiphon.events.ids import Operation, Seq
from antiphon.events.memory import MemoryLog
from antiphon.events.store import Expect
from antiphon.events.units import Moment, Samples
from antiphon.events.vocabulary import Event, InputAppended, UnitCompleted

from .test_past import PIECE, UNIT, long_call
from .test_stage_port import S

CALL = 1_000
"""Units of a long one: 12,000 events."""


def log_of(pieces: list[int]) -> MemoryLog:
    """Input of so many samples each, of which every third is erased; 0: something else that was noted."""
    log, until = MemoryLog(), 0
    lease, _ = log.open(S, expect=Expect.NEW, owner="t")
    for seq, samples in enumerate(pieces):
        until += samples
        event: Event = UnitCompleted(operation=Operation(seq))
        sound = None
        if samples:
            event = InputAppended(samples=Samples(samples), until_sample=Samples(until))
            sound = bytes(2 * samples) if seq % 3 else None
        log.append(lease, Seq(seq), [Draft(event, Moment(0, 0), sound)])
    return log


PIECES = st.lists(st.one_of(st.integers(1, 9), st.just(0)), min_size=1, max_size=3 * BLOCK)


@given(PIECES, st.data())
def test_what_is_had_back_is_what_the_whole_log_says(pieces: list[int], data: st.DataObject) -> None:
    log = log_of(pieces)
    before = data.draw(st.integers(0, len(pieces)))
    sample, seq = data.draw(st.integers(0, sum(pieces))), data.draw(st.integers(-1, len(pieces)))
    whole = [one for one in log.read(S) if isinstance(one.event, InputAppended) and one.blob is not None]
    assert [piece.seq for piece in input_after(log, S, 0, sample, before)] == [
        one.seq
        for one in whole
        if one.seq < before and isinstance(one.event, InputAppended) and one.event.until_sample > sample
    ]
    assert [piece.seq for piece in input_behind(log, S, 0, seq, before)] == [
        one.seq for one in whole if seq < one.seq < before
    ]


def test_of_a_long_call_the_end_is_read() -> None:
    log = long_call(CALL)
    events = 12 * CALL
    latest = input_after(log, S, 0, CALL * UNIT - 3 * PIECE, events)
    assert [piece.until_sample for piece in latest] == [CALL * UNIT - n * PIECE for n in (2, 1, 0)]
    assert log.events == BLOCK
    assert len(input_behind(log, S, 0, events - 12, events)) == 9
    assert log.events == BLOCK + 11


def test_what_lies_further_back_is_read_as_far_as_that() -> None:
    log = long_call(CALL)
    assert len(input_after(log, S, 0, (CALL - 100) * UNIT, 12 * CALL)) == 10 * 100
    assert log.events == 5 * BLOCK
