"""How fast a client's frames are read, on a clock that the test moves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from antiphon.web.pace import BURST, RATE, STEP, Pace


def read(pace: Pace, frames: int, gap_s: float, now: float = 100.0) -> float:
    """The time when so many frames were read that come with gaps of `gap_s`."""
    for _ in range(frames):
        now += gap_s
        if pace.passed():
            now += pace.pause(now)
    return now


def test_a_burst_is_read_as_it_comes() -> None:
    assert read(Pace(), BURST, 0.0) == 100.0


def test_a_flood_is_read_at_its_rate() -> None:
    assert abs(read(Pace(), BURST + 10 * RATE, 0.0) - 110.0) < 0.2


def test_who_talks_is_never_held() -> None:
    gap = 1 / (RATE - 1)
    assert abs(read(Pace(), 5_000, gap) - (100.0 + 5_000 * gap)) < 1e-6


def test_after_a_rest_there_is_a_burst_again() -> None:
    pace = Pace()
    now = read(pace, BURST + RATE, 0.0) + BURST / RATE
    assert read(pace, BURST - STEP, 0.0, now) == now


@given(st.lists(st.floats(0, 0.01), min_size=1, max_size=400))
def test_no_more_than_the_burst_is_ever_ahead_of_the_rate(gaps: list[float]) -> None:
    pace, now = Pace(), 100.0
    for frames, gap in enumerate(gaps * 10, 1):
        now += gap
        if pace.passed():
            now += pace.pause(now)
        assert frames <= (now - 100.0) * RATE + BURST + STEP
