"""Figures and the targets they are held to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table


class Figure(Struct, frozen=True):
    """Something measured. `limit` is the most it may be, None where nothing is promised.

    `at_least`: the limit is the least it may be.
    """

    name: str
    value: float | None
    unit: str
    limit: float | None = None
    samples: int = 1
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        """None where there is no target. What could not be measured does not meet its target."""
        if self.limit is None:
            return None
        if self.value is None:
            return False
        return self.value >= self.limit if self.at_least else self.value <= self.limit


_SIGN = {False: "<=", True: ">="}


def quantile(values: Iterable[float | None], share: float) -> float | None:
    """The value that `share` of all are at or below (nearest rank); None of nothing."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return None
    return known[max(-(-len(known) * round(share * 1000) // 1000) - 1, 0)]


def show(figures: Sequence[Figure]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("figure")
    for name in ("measured", "target", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for figure in figures:
        table.add_row(
            figure.name,
            _shown(figure.value, figure.unit),
            "" if figure.limit is None else f"{_SIGN[figure.at_least]} {_shown(figure.limit, figure.unit)}",
            str(figure.samples),
            {None: "", True: "pass", False: "FAIL"}[figure.met],
        )
    Console(width=110).print(table)


def write_json(path: Path | None, **members: Any) -> None:
    if path is not None:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(members), indent=1) + b"\n")


def _shown(value: float | None, unit: str) -> str:
    if value is None:
        return "none"
    digits = 0 if unit == "" or abs(value) >= 100 else 1 if unit == "ms" else 2
    return f"{value:.{digits}f} {unit}".strip()
