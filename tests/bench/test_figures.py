"""Figures, and whether they meet their targets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.figures import Figure, quantile


def test_what_could_not_be_measured_misses_its_target() -> None:
    assert Figure("x", None, "s", 1.0).met is False


def test_a_figure_at_its_limit_meets_it_and_one_without_a_limit_promises_nothing() -> None:
    assert Figure("x", 1.0, "s", 1.0).met is True
    assert Figure("x", 1.1, "s", 1.0).met is False
    assert Figure("x", 1.0, "s").met is None


def test_quantiles_are_values_that_were_measured() -> None:
    values = [5.0, None, 1.0, 4.0, 2.0, 3.0]
    assert [quantile(values, share) for share in (0.0, 0.2, 0.5, 0.9, 1.0)] == [1.0, 1.0, 3.0, 5.0, 5.0]
    assert quantile([None], 0.5) is None


@given(st.lists(st.floats(0, 1), min_size=1), st.sampled_from([0.5, 0.9, 0.99]))
def test_at_least_that_share_is_at_or_below_a_quantile(values: list[float], share: float) -> None:
    found = quantile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9
    assert sum(value < found for value in values) < share * len(values) + 1e-9


def test_loop_lag_is_never_said_to_be_less_than_it_is() -> None:
    echo = pytest.importorskip("bench.echo", exc_type=ImportError)
    histogram = {0.001: 90.0, 0.005: 98.0, 0.02: 100.0, float("inf"): 100.0}
    assert echo.lag_quantile_ms(histogram, 0.5) == 1.0
    assert echo.lag_quantile_ms(histogram, 0.99) == 20.0
    assert echo.lag_quantile_ms({}, 0.99) is None
