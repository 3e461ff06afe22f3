"""What is said of a run."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from bench.figures import Figure, quantile
from bench.thinker.units import UNIT_S, Told


class Run(Struct, frozen=True):
    """One engine with so many sessions. `level`: bare, thinker or runtime. `added`: what the runtime took of
    each unit beside the thinker, in ms, to the first token and in all."""

    engine: str
    level: str
    sessions: int
    context: int
    told: list[Told]
    added: list[tuple[float, float]] = []


def figures(run: Run) -> Iterator[Figure]:
    name = f"{run.engine}, {run.level}, {run.sessions} sessions, context {run.context}"
    speaking = [one for one in run.told if not one.listened]
    first = [one.first_ms for one in run.told]
    tokens = [sum(one.gaps_ms) / len(one.gaps_ms) for one in speaking if one.gaps_ms]
    gaps = [gap for one in speaking for gap in one.gaps_ms]
    whole = [one.whole_ms for one in speaking]
    for what, times in (("TTFT", first), ("TPOT", tokens), ("ITL", gaps), ("unit", whole)):
        for share in (0.5, 0.95):
            yield Figure(f"{name}: {what}, p{share * 100:g}", quantile(times, share), "ms", None, len(times))
    late = sum(one > UNIT_S * 1000 for one in whole)
    yield Figure(f"{name}: units that took longer than they last", float(late), "", 0.0, len(whole))
    if run.added:
        yield from _added(name, run)


def _added(name: str, run: Run) -> Iterator[Figure]:
    """The promise is for 16 sessions."""
    most = 3.0 if run.sessions == 16 else None
    first = quantile((first for first, _ in run.added), 0.5)
    yield Figure(f"{name}: added to TTFT, p50", first, "ms", most, len(run.added))
    shares = [
        100 * whole / (one.whole_ms - whole)
        for one, (_, whole) in zip(run.told, run.added, strict=True)
        if not one.listened
    ]
    yield Figure(f"{name}: added to a unit, p50", quantile(shares, 0.5), "%", 5.0, len(shares))
