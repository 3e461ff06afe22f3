"""The pace of a link's writes, on a clock of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.actors.link.pace import Pace

EVERY_S, LEEWAY_S = 0.003, 0.05


def done_at(wishes: list[float]) -> list[float]:
    """When each of what is wished for at these times is done, one after the other."""
    pace, times = Pace(EVERY_S, LEEWAY_S), []
    for wish in wishes:
        times.append(max(wish, pace.next_s))
        pace.done(times[-1])
    return times


def test_what_comes_now_and_then_never_waits() -> None:
    wishes = [10 + number * 0.005 for number in range(400)]

    assert done_at(wishes) == wishes


def test_sixteen_at_once_do_not_wait_for_each_other() -> None:
    assert done_at([10.0] * 16) == [10.0] * 16
    assert done_at([10.0] * 20)[-1] == pytest.approx(10.0 + 19 * EVERY_S - LEEWAY_S)


def test_after_a_second_of_rest_as_many_leave_at_once_again() -> None:
    assert done_at([10.0] * 16 + [11.0] * 16)[16:] == [11.0] * 16


def test_whoever_never_stops_does_one_in_so_long() -> None:
    times = done_at([10.0] * 1_000)

    assert times[-1] - times[499] == pytest.approx(500 * EVERY_S)


@given(st.lists(st.floats(0, 1), max_size=200).map(sorted))
def test_no_stretch_of_time_has_more_than_its_share(wishes: list[float]) -> None:
    times = done_at(wishes)
    for first in range(len(times)):
        for last in range(first, len(times)):
            most = (times[last] - times[first] + LEEWAY_S) / EVERY_S + 1
            assert last - first + 1 <= most + 1e-6
