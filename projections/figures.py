"""What many measurements come to. Percentiles are nearest rank: each is one of the values themselves."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class Figures(Struct, frozen=True, kw_only=True):
    """Of `count` values, in milliseconds with three decimals."""

    count: int
    mean: float
    p50: float
    p95: float
    p99: float
    max: float


def figures(values_ms: Iterable[float]) -> Figures | None:
    """None where there is no value."""
    ordered = sorted(values_ms)
    if not ordered:
        return None
    return Figures(
        count=len(ordered),
        mean=round(sum(ordered) / len(ordered), 3),
        p50=nearest_rank(ordered, 50),
        p95=nearest_rank(ordered, 95),
        p99=nearest_rank(ordered, 99),
        max=round(ordered[-1], 3),
    )


def nearest_rank(ordered: list[float], percent: int) -> float:
    """The smallest value that at least `percent` of the ascending values do not exceed."""
    rank = -(-len(ordered) * percent // 100)  # rounded up
    return round(ordered[max(rank, 1) - 1], 3)
