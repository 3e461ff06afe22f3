"""Many clients of every dialect at once, most steady and some restless, on a server as it would be run.

    python -m bench.load                  120 sessions, two serving processes: added latency
    python -m bench.load --churn 60       the same for an hour: does anything grow, does the log slow down
    python -m bench.load --short          12 sessions for three seconds: whether it works

A third each speaks plain Realtime, duplex and native. One in six is restless: it breaks in every five
seconds, and every twenty drops its connection without a word and begins a new session; what it left waits for
it in vain. The others are timed (crowd.py): from when a frame was due to when its echo was here.
"""

from __future__ import annotations

import asyncio
import random
import re
import sys
import tempfile
import time
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import httpx
import uvloop
from msgspec import Struct
from picows import WSCloseCode

from bench.crowd import FRAME_S, SETTLE_S
from bench.figures import Figure, quantile, show, write_json
from bench.machine import machine
from bench.processes import resident_bytes, tree
from bench.server import Server
from bench.talkers import DIALECTS, Restless, Talker

RESTLESS_ONE_IN = 6
CONNECTING_AT_ONCE = 10
MOST_P99_MS, MOST_GROWTH, MOST_SLOWDOWN = 20.0, 5.0, 2.0
WARM_UP_S, WINDOW_S = 600.0, 300.0
"""Of a long run: memory counts from the first on, appends in the first and last such window after it."""
LOOK_EVERY_S = 5.0


class Look(Struct, frozen=True):
    """At the server, at one time of the run."""

    at_s: float
    resident: dict[int, int]
    """Bytes, by process."""
    appends: dict[float, float]
    """How many appends took at most so many seconds, in all serving processes, since they began."""


class Load(Struct):
    """What came of it. Latencies in seconds, by dialect."""

    sent: int
    latencies: dict[str, Any]
    lost: int
    barge_ins: int
    drops: int
    refused: int
    looks: list[Look]


@click.command()
@click.option("--sessions", type=click.IntRange(6, 2_000), default=120, show_default=True)
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True)
@click.option("--seconds", type=click.FloatRange(1, 600), default=10.0, show_default=True)
@click.option("--rounds", type=click.IntRange(1, 20), default=3, show_default=True)
@click.option("--churn", type=click.FloatRange(0.2, 600), metavar="MINUTES", help="One long round instead.")
@click.option("--short", is_flag=True, help="Few and briefly: whether it works at all.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Also write everything here.")
def main(
    sessions: int,
    workers: int,
    seconds: float,
    rounds: int,
    churn: float | None,
    short: bool,
    json_path: Path | None,
) -> None:
    """Measure a server under load; exit code 1 when a target is missed (never with --short)."""
    if short:
        sessions, seconds, rounds = 12, 3.0, 1
    if churn is not None:
        seconds, rounds = churn * 60, 1
    on = machine()
    click.echo(on)
    loads = [load(sessions, workers, seconds) for _ in range(rounds)]
    figures = summary(loads, sessions, workers)
    if churn is not None:
        figures += growth(loads[0].looks)
    show(figures)
    write_json(json_path, machine=on, figures=figures, looks=[one.looks for one in loads])
    if not short and any(figure.met is False for figure in figures):
        sys.exit(1)


def summary(loads: Sequence[Load], sessions: int, workers: int) -> list[Figure]:
    """The median of the rounds; what must not happen, of all rounds."""
    n, figures = len(loads), []
    everything = [[late for each in one.latencies.values() for late in each] for one in loads]
    for share, limit in ((0.5, None), (0.99, MOST_P99_MS)):
        value = _median([quantile(each, share) for each in everything])
        name = f"added latency p{share * 100:g}, {sessions} sessions, {workers} serving processes"
        figures.append(Figure(name, value, "ms", limit, n))
    for dialect in DIALECTS:
        value = _median([quantile(one.latencies[dialect.name], 0.99) for one in loads])
        figures.append(Figure(f"added latency p99, {dialect.name}", value, "ms", None, n))
    back = min(len(each) / max(one.sent, 1) for each, one in zip(everything, loads, strict=True)) * 100
    figures.append(Figure("frames back, worst round", back, "%", 99.5, n, at_least=True))
    figures.append(Figure("steady speakers lost", float(sum(one.lost for one in loads)), "", 0.0, n))
    figures.append(Figure("times somebody broke in", float(sum(one.barge_ins for one in loads)), "", None, n))
    figures.append(Figure("connections dropped", float(sum(one.drops for one in loads)), "", None, n))
    figures.append(Figure("new sessions refused", float(sum(one.refused for one in loads)), "", None, n))
    return figures


def growth(looks: Sequence[Look]) -> list[Figure]:
    """Of one long round."""
    warm = next((look for look in looks if look.at_s >= min(WARM_UP_S, looks[-1].at_s / 6)), looks[0])
    figures = []
    for pid, before in warm.resident.items():
        after = looks[-1].resident.get(pid)
        if before and after is not None:  # one that is dead and not yet taken leave of has no memory
            percent = (after / before - 1) * 100
            name = f"process {pid}, resident: {before / 1e6:.0f} MB, and grew by"
            figures.append(Figure(name, percent, "%", MOST_GROWTH))
    window = min(WINDOW_S, looks[-1].at_s / 6)
    first = _appends(looks, warm.at_s, warm.at_s + window)
    last = _appends(looks, looks[-1].at_s - window, looks[-1].at_s)
    figures.append(Figure("append p99, first window (bucket)", first and first * 1000, "ms"))
    figures.append(Figure("append p99, last window (bucket)", last and last * 1000, "ms"))
    slowdown = last / first if first and last else None
    figures.append(Figure("the latter by the former", slowdown, "x", MOST_SLOWDOWN))
    return figures


def _appends(looks: Sequence[Look], begin_s: float, end_s: float) -> float | None:
    """The p99 of the appends between two times, in seconds, within its bucket by its share of it."""
    first = min(looks, key=lambda look: abs(look.at_s - begin_s)).appends
    last = min(looks, key=lambda look: abs(look.at_s - end_s)).appends
    counts = [(bound, last[bound] - first.get(bound, 0.0)) for bound in sorted(last)]
    wanted = counts[-1][1] * 0.99
    below, lower = 0.0, 0.0
    for bound, count in counts:
        if count >= wanted and count > below:
            return lower + (bound - lower) * (wanted - below) / (count - below)
        below, lower = count, bound
    return None


def _median(values: Sequence[float | None]) -> float | None:
    middle = quantile(values, 0.5)
    return None if middle is None else middle * 1000


# --- one round --------------------------------------------------------------------------------------------


def load(sessions: int, workers: int, seconds: float) -> Load:
    """On a server of its own."""
    with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as folder:
        server = Server("echo", Path(folder), "--workers", str(workers))
        try:
            server.answered("/health")
            server.has_workers(workers)
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                return runner.run(_load(server, sessions, seconds))
        finally:
            server.stop()


async def _load(server: Server, sessions: int, seconds: float) -> Load:
    rng, base = random.Random(sessions), server.url.removesuffix("/v1/realtime")
    kinds = [DIALECTS[n % len(DIALECTS)] for n in range(sessions)]
    unsteady = sessions // RESTLESS_ONE_IN
    restless = [Restless(base + kind.path, kind, random.Random(rng.random())) for kind in kinds[:unsteady]]
    talkers = [Talker(kind) for kind in kinds[unsteady:]]
    gate = asyncio.Semaphore(CONNECTING_AT_ONCE)

    async def join(talker: Talker) -> None:
        async with gate:
            await talker.connect(base + talker.dialect.path)

    await asyncio.gather(*map(join, talkers))
    others = [asyncio.create_task(one.live()) for one in restless]
    start = time.monotonic() + FRAME_S
    for talker in talkers:
        talker.speak(start + rng.uniform(0, FRAME_S))
    await asyncio.sleep(SETTLE_S)
    begin = time.monotonic()
    for talker in talkers:
        talker.counts_from = begin
    looks = await _look_on(server, begin + seconds)
    for other in others:
        other.cancel()
    for talker in talkers:
        talker.stop()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.sleep(SETTLE_S)
    found = _sum_up(talkers, restless, looks)
    for talker in talkers:
        talker.transport.send_close(WSCloseCode.OK)
        talker.transport.disconnect()
    return found


async def _look_on(server: Server, until: float) -> list[Look]:
    looks, began = [], time.monotonic()
    async with httpx.AsyncClient(trust_env=False, timeout=10) as client:
        while True:
            page = (await client.get(server.base + "/metrics")).text
            resident = {pid: resident_bytes(pid) for pid in tree(server.pid)}
            looks.append(Look(time.monotonic() - began, resident, _buckets(page)))
            if (left := until - time.monotonic()) <= 0:
                return looks
            await asyncio.sleep(min(LOOK_EVERY_S, left))


def _buckets(page: str) -> dict[float, float]:
    found = re.findall(r'^antiphon_log_append_seconds_bucket\{.*?le="([^"]+)".*?\} (\S+)$', page, re.M)
    summed: dict[float, float] = {}
    for bound, count in found:
        summed[float(bound)] = summed.get(float(bound), 0.0) + float(count)
    return summed


def _sum_up(talkers: Sequence[Talker], restless: Sequence[Restless], looks: list[Look]) -> Load:
    latencies = {dialect.name: array("f") for dialect in DIALECTS}
    for talker in talkers:
        latencies[talker.dialect.name] += talker.late
    return Load(
        sent=sum(talker.due_count for talker in talkers),
        latencies=latencies,
        lost=sum(talker.lost for talker in talkers),
        barge_ins=sum(one.barge_ins for one in restless),
        drops=sum(one.drops for one in restless),
        refused=sum(one.refused for one in restless),
        looks=looks,
    )


if __name__ == "__main__":
    main()
