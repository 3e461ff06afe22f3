"""The load generator: it talks in every dialect, and what it makes of what it saw."""

from __future__ import annotations

import pytest

from bench.load import DIALECTS, Look, growth, load, summary


def test_steady_speakers_of_every_dialect_are_timed_beside_restless_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bench.talkers.BREAK_IN_EVERY_S", 0.3)
    monkeypatch.setattr("bench.talkers.DROP_EVERY_S", 0.3)
    found = load(6, 1, 2.0)
    assert set(found.latencies) == {dialect.name for dialect in DIALECTS}
    assert all(len(late) >= 10 for late in found.latencies.values())
    assert sum(len(late) for late in found.latencies.values()) <= found.sent
    assert (found.lost, found.refused) == (0, 0)
    assert found.barge_ins > 0
    assert found.drops > 0
    names = [figure.name for figure in summary([found], 6, 1)]
    assert names[0] == "added latency p50, 6 sessions, 1 serving processes"


def look(at_s: float, resident: int, quick: float, slow: float) -> Look:
    """After so many appends that took at most 1 ms, and so many that took up to 10."""
    return Look(at_s, {7: resident}, {0.001: quick, 0.01: quick + slow, float("inf"): quick + slow})


def test_a_process_that_grows_and_a_log_that_gets_slower_miss_their_targets() -> None:
    looks = [
        look(0, 50_000_000, 0, 0),
        look(100, 100_000_000, 1_000, 0),
        look(200, 104_000_000, 2_000, 0),
        look(500, 105_000_000, 5_000, 0),
        look(600, 110_000_000, 5_500, 500),
    ]
    figures = {figure.name.partition(":")[0]: figure for figure in growth(looks)}
    grew = figures["process 7, resident"]
    assert grew.value == pytest.approx(10)
    assert grew.met is False
    first, last = figures["append p99, first window (bucket)"], figures["append p99, last window (bucket)"]
    assert first.value is not None
    assert last.value is not None
    assert first.value < 1 < last.value < 10
    assert figures["the latter by the former"].met is False


def test_what_stays_as_it_is_meets_them() -> None:
    looks = [look(100 * n, 100_000_000, 1_000 * n, 10 * n) for n in range(10)]
    assert all(figure.met is not False for figure in growth(looks))


def test_a_process_that_is_dead_and_not_yet_taken_leave_of_is_passed_over() -> None:
    looks = [look(100 * n, 100_000_000, 1_000 * n, 10 * n) for n in range(10)]
    for each in looks:
        each.resident[8] = 0
    assert not any("process 8" in figure.name for figure in growth(looks))
