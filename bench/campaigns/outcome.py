"""What a campaign tried, and the first promise that was broken, if one was."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from msgspec import Struct
from rich.console import Console
from rich.table import Table

Promise = Literal["lost", "torn", "undetected", "disturbed", "repeated"]
PROMISES: tuple[Promise, ...] = ("lost", "torn", "undetected", "disturbed", "repeated")
"""An acknowledged event is not there; part of a batch is shown; something is shown that was never written, or
damage is passed over in silence; another session of the store, or a connection that was well, was touched;
something came twice, or not in its place."""


class Violation(Exception):
    """A promise was broken; `what` says how, for a person."""

    def __init__(self, promise: Promise, what: str) -> None:
        super().__init__(f"{promise}: {what}")
        self.promise, self.what = promise, what


class Tally:
    """Counts while a campaign runs. `case` says what is being tried now, so that it can be named."""

    def __init__(self) -> None:
        self.tried = 0
        self.found: Counter[str] = Counter()
        self.case = ""

    def next(self, case: str) -> None:
        self.tried += 1
        self.case = case


class Outcome(Struct, frozen=True):
    campaign: str
    seed: int
    tried: int
    found: dict[str, int]
    """What was seen that is as it should be, e.g. how often damage was named."""
    seconds: float
    broken: Promise | None = None
    case: str = ""
    """The first case that failed, and how; empty if none did."""


def show(outcomes: list[Outcome]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("campaign", no_wrap=True)
    for name in ("tried", *PROMISES, "s"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("seen")
    for outcome in outcomes:
        broken = ["1" if outcome.broken == promise else "0" for promise in PROMISES]
        seen = ", ".join(f"{count:,} {what}" for what, count in outcome.found.items())
        table.add_row(outcome.campaign, f"{outcome.tried:,}", *broken, f"{outcome.seconds:.0f}", seen)
    Console(width=150).print(table)
