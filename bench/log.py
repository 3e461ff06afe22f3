"""Our log beside what people would otherwise keep events in: SQLite, and the `eventsourcing` library.

    python -m bench.log                  three rounds
    python -m bench.log --rounds 1 --seconds 0.5     a glance

In every round each measure is taken of every store in turn, so that what else the machine does meets all;
the medians of the rounds count, and of ratios the medians of each round's. Rows that promise the same as ours
stand first. What an answer promises (`level`): `process`, that the event survives whatever becomes of the
process; `power`, that it also survives a power cut, which ours does not offer. Encoding and decoding are in
every figure, and are the same for all.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from bench.figures import write_json
from bench.log_events import conversation
from bench.log_measures import (
    CONTENDERS,
    LIBRARY,
    MANY,
    NORMAL,
    OURS,
    REPLAYED,
    Contender,
    Replay,
    Speed,
    appends,
    openings,
    replay,
)
from bench.machine import machine
from bench.processes import busy_ns

ONE, CROWD = "1 session, 1 event at a time", f"{MANY} sessions, 1 event of each in turn"
SHARED, APART = "one store for all sessions", "a store for each session"


class Results(Struct):
    """By measure and store, one value a round."""

    speeds: dict[str, dict[str, list[Speed]]]
    replays: dict[str, list[Replay]]


class Target(Struct, frozen=True):
    name: str
    value: float
    unit: str
    bound: float
    at_least: bool = True

    @property
    def met(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value <= self.bound


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option(
    "--seconds", type=float, default=2.0, show_default=True, help="Of appending, per store and measure."
)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Also write everything here.")
def main(rounds: int, seconds: float, json_path: Path | None) -> None:
    """Compare logs, and hold ours to its targets."""
    on = machine()
    click.echo(on)
    results = Results(defaultdict(lambda: defaultdict(list)), defaultdict(list))
    with others_meanwhile():
        for _ in range(rounds):
            measure_openings(results)
        for n in range(rounds):
            click.echo(f"round {n + 1} of {rounds}")
            measure(results, seconds)
    for name in (ONE, CROWD):
        show_speeds(f"Appends: {name}", results.speeds[name])
    show_replays(results.replays)
    for name in (SHARED, APART):
        show_openings(f"Opening a session, its first event included: {name}", results.speeds[name])
    reached = targets(results)
    show_targets(reached)
    write_json(json_path, machine=on, results=results, targets=reached)


@contextlib.contextmanager
def others_meanwhile() -> Iterator[None]:
    """Say how much of the machine somebody else used: the more, the less these figures say."""
    began, own, everybody = time.monotonic_ns(), time.process_time_ns(), busy_ns()
    yield
    took, own, everybody = time.monotonic_ns() - began, time.process_time_ns() - own, busy_ns() - everybody
    click.echo(f"Others used {max(0, everybody - own) / took:.2f} cores meanwhile.")


def measure_openings(results: Results) -> None:
    """One round. They all come first: deleting what the others wrote slows new files down for long."""
    for shared, name in ((True, SHARED), (False, APART)):
        for contender in CONTENDERS:
            os.sync()
            results.speeds[name][contender.name].append(openings(contender, shared=shared))


def measure(results: Results, seconds: float) -> None:
    """One round of everything else, of every store in turn."""
    drafts = conversation(REPLAYED)
    for sessions, name in ((1, ONE), (MANY, CROWD)):
        for contender in CONTENDERS:
            results.speeds[name][contender.name].append(appends(contender, sessions, seconds))
    for contender in CONTENDERS:
        if contender.level == OURS.level:  # a level costs nothing in reading
            results.replays[contender.name].append(replay(contender, drafts))


# --- what is shown ----------------------------------------------------------------------------------------


def _median(rounds: Sequence[Struct], member: str) -> float:
    return statistics.median(float(getattr(one, member)) for one in rounds)


def _ratio(ours: Sequence[Struct], others: Sequence[Struct], member: str) -> float:
    """How many times more of it ours has: the median of each round's ratio."""
    pairs = zip(ours, others, strict=True)
    return statistics.median(float(getattr(mine, member) / getattr(other, member)) for mine, other in pairs)


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    click.echo(f"\n{title}")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    Console(width=120).print(table)


def show_speeds(title: str, speeds: dict[str, list[Speed]]) -> None:
    ours, rows = speeds[OURS.name], list[list[str]]()
    for contender in CONTENDERS:
        rounds = speeds[contender.name]
        times = [f"{_median(rounds, member):,.0f}" for member in ("p50_us", "p99_us")]
        ratio = "" if contender is OURS else f"{_ratio(ours, rounds, 'per_s'):.1f}"
        rows.append([contender.name, contender.level, f"{_median(rounds, 'per_s'):,.0f}", *times, ratio])
    _table(title, ("store", "level", "events/s", "p50 us", "p99 us", "ours x"), rows)


def show_openings(title: str, speeds: dict[str, list[Speed]]) -> None:
    rows = []
    for contender in CONTENDERS:
        rounds = speeds[contender.name]
        times = [f"{_median(rounds, member) / 1000:.2f}" for member in ("p50_us", "p99_us")]
        rows.append([contender.name, contender.level, *times])
    _table(title, ("store", "level", "p50 ms", "p99 ms"), rows)


def show_replays(replays: dict[str, list[Replay]]) -> None:
    ours, rows = replays[OURS.name], list[list[str]]()
    for contender in CONTENDERS:
        if not (rounds := replays.get(contender.name)):
            continue
        row = [contender.name]
        for member in ("events_per_s", "cold_per_s", "with_audio_per_s"):
            ratio = "" if contender is OURS else f"{_ratio(ours, rounds, member):.1f}"
            row += [f"{_median(rounds, member):,.0f}", ratio]
        rows.append([*row, f"{_median(rounds, 'overhead_bytes'):,.0f}"])
    columns = ("store", "events/s", "ours x", "cold", "ours x", "with audio", "ours x", "B/event")
    title = f"A session of {REPLAYED:,} events: read again, and bytes on the disk beyond the typed bodies"
    _table(title, columns, rows)


def targets(results: Results) -> list[Target]:
    def faster(measure: str, than: Contender) -> float:
        speeds = results.speeds[measure]
        return _ratio(speeds[OURS.name], speeds[than.name], "per_s")

    ours = results.replays[OURS.name]
    library = next(rounds for name, rounds in results.replays.items() if name.startswith("eventsourcing"))
    overhead = _median(ours, "overhead_bytes")
    opening_ms = _median(results.speeds[SHARED][OURS.name], "p50_us") / 1000
    return [
        Target("appends, 1 session: times SQLite NORMAL", faster(ONE, NORMAL), "x", 5),
        Target("appends, 1 session: times eventsourcing", faster(ONE, LIBRARY), "x", 50),
        Target(f"appends, {MANY} sessions: times SQLite NORMAL", faster(CROWD, NORMAL), "x", 1.5),
        Target(f"appends, {MANY} sessions: times eventsourcing", faster(CROWD, LIBRARY), "x", 2),
        Target("replay of events: times eventsourcing", _ratio(ours, library, "events_per_s"), "x", 10),
        Target("bytes per event beyond the typed body", overhead, "B", 60, at_least=False),
        Target("opening a session with its first event, median", opening_ms, "ms", 1, at_least=False),
    ]


def show_targets(reached: Sequence[Target]) -> None:
    rows = [
        [
            target.name,
            f"{target.value:.2f} {target.unit}",
            f"{'>=' if target.at_least else '<='} {target.bound:g} {target.unit}",
            "pass" if target.met else "FAIL",
        ]
        for target in reached
    ]
    _table("Targets", ("figure", "measured", "target", ""), rows)


if __name__ == "__main__":
    main()
