"""Figures over many values: nearest-rank percentiles, milliseconds to three places."""

from __future__ import annotations

import math
from collections.abc import Sequence

Figures = dict[str, float]


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that at least so many percent do not exceed. Raises ValueError of none."""
    if not values:
        raise ValueError("there is no percentile of nothing")
    rank = max(math.ceil(percent * len(values) / 100), 1)
    return sorted(values)[rank - 1]


def intervals(values: Sequence[float]) -> Figures | None:
    """count, mean, p50, p95, max; None of none."""
    return (
        None if not values else {**_common(values), "p95": ms(percentile(values, 95)), "max": ms(max(values))}
    )


def spread(values: Sequence[float]) -> Figures | None:
    """count, mean, p50, p99; None of none."""
    return None if not values else {**_common(values), "p99": ms(percentile(values, 99))}


def _common(values: Sequence[float]) -> Figures:
    return {
        "count": len(values),
        "mean": ms(math.fsum(values) / len(values)),
        "p50": ms(percentile(values, 50)),
    }


def ms(value: float) -> float:
    return round(value, 3)


def between_ms(from_s: float | None, until_s: float | None) -> float | None:
    """None where one of the two has not happened."""
    return None if from_s is None or until_s is None else ms((until_s - from_s) * 1000)
