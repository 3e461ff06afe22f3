"""docs/metrics.md names what is on the page, and all of it."""

from __future__ import annotations

import re
from pathlib import Path

from antiphon.web.metrics import Metrics

DOCS = (Path(__file__).resolve().parents[2] / "docs" / "metrics.md").read_text("utf-8")


def test_every_metric_is_described_and_every_described_one_is_there() -> None:
    there = {family.name for family in Metrics().registry.collect()}
    described = {name for line in DOCS.splitlines() if line.startswith("| `") for name in _named(line)}
    assert described == there


def _named(row: str) -> list[str]:
    return re.findall(r"`(antiphon_[a-z_]+)`", row)
