"""How many conversations a lockstep model holds at once, bare and behind the whole runtime.

    python -m bench.moshi --size nano --slots 4                 on a CPU
    python -m bench.moshi --size personaplex --slots 16,64      on a GPU: random weights of the full size
    python -m bench.moshi --size echo --slots 16                no model: what the runtime costs by itself

Bare: the stepper alone, Mimi included, burst (back to back) and paced (a tick every 80 ms; a step that ends
after the next tick misses). Runtime: `antiphon serve --stage moshi`, one client of `/v1/audio/duplex` for
each slot that sends a frame every 80 ms in real time and reads; a frame's way is read from the log: from the
moment its sound is appended to the moment its answer is, less what it waited for the tick and what the step
took.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import numpy as np
from msgspec import Struct
from websockets.asyncio.client import connect

from antiphon.actors.stages.moshi import settings
from antiphon.actors.stages.moshi.stepper import FRAME_MS, FRAME_SAMPLES, Prompt, Sampling
from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.vocabulary import (
    AudioSpoken,
    InputAppended,
    ModelListened,
    StageMeasured,
    UnitSubmitted,
)
from bench.figures import Figure, quantile, show, write_json
from bench.machine import machine
from bench.server import Server

BURST_STEPS = 100
READY = '{"type":"ready"}'
OVERHEAD_P50_MS, OVERHEAD_P99_MS, SPACING_MS = 1.0, 10.0, 20.0
SETTLE_S = 2.0
"""Of each run, at its beginning, that is not counted: sessions open one after the other."""


class Bare(Struct, frozen=True):
    """Times in ms."""

    slots: int
    burst: list[float]
    paced: list[float]
    misses: int
    gpu_gib: float


class Ran(Struct):
    """What clients and logs of one run say: times in ms, over all sessions."""

    slots: int
    waited: list[float] = []
    stepped: list[float] = []
    overhead: list[float] = []
    spacing: list[float] = []
    sent: int = 0
    answered: int = 0
    substituted: int = 0


@click.command()
@click.option("--size", default="nano", help="echo, nano, moshi or personaplex.")
@click.option("--slots", default="4", help="How many; several with commas.")
@click.option("--seconds", default=20.0, help="Of each paced run.")
@click.option("--workers", default=1, help="Serving processes.")
@click.option("--only", type=click.Choice(["bare", "runtime"]), help="One half of it.")
@click.option("--short", is_flag=True, help="Few seconds: whether it works at all.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Also write everything here.")
def main(
    size: str, slots: str, seconds: float, workers: int, only: str | None, short: bool, json_path: Path | None
) -> None:
    """Measure; exit code 1 when a target is missed (never with --short)."""
    on = machine()
    click.echo(on)
    seconds = 4.0 if short else seconds
    figures: list[Figure] = []
    everything: list[Bare | Ran] = []
    for count in map(int, slots.split(",")):
        if only != "runtime" and size != "echo":
            everything.append(bare := _apart(_bare, size, count, seconds))
            figures += _of_bare(size, bare)
            show(figures[-4:])
        if only != "bare":
            everything.append(ran := _runtime(size, count, seconds, workers))
            new = list(_of_runtime(size, ran))
            figures += new
            show(new)
    click.echo()
    show(figures)
    write_json(json_path, machine=on, figures=figures, runs=everything)
    if not short and any(figure.met is False for figure in figures):
        sys.exit(1)


def _apart(measure: Any, *arguments: Any) -> Any:
    """In a process of its own: what a model holds of a GPU is free when its process is gone."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, arguments)


def _bare(size: str, slots: int, seconds: float) -> Bare:
    chosen = settings.read({"size": size, "random_weights": True, "batch_size": slots})
    stepper = settings.stepper(chosen, lambda told: click.echo(told))
    for slot in range(slots):
        stepper.open(slot, Prompt(), Sampling(seed=slot))
    while stepper.prefilling:
        stepper.step({})
    noise = np.random.default_rng(0)
    frames = [noise.normal(0, 0.1, FRAME_SAMPLES).astype(np.float32) for _ in range(slots)]
    heard = dict(enumerate(frames))

    def step() -> float:
        began = time.perf_counter()
        stepper.step(heard)
        return (time.perf_counter() - began) * 1000

    for _ in range(5):
        step()
    burst = [step() for _ in range(BURST_STEPS)]
    paced, misses = [], 0
    due = time.perf_counter() + FRAME_MS / 1000
    for _ in range(int(seconds * 1000 / FRAME_MS)):
        time.sleep(max(0.0, due - time.perf_counter()))
        paced.append(step())
        due += FRAME_MS / 1000
        misses += time.perf_counter() > due
    return Bare(slots, burst, paced, misses, _gpu_gib())


def _gpu_gib() -> float:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return 0.0
    free, total = torch.cuda.mem_get_info()
    return float(total - free) / 2**30


def _runtime(size: str, slots: int, seconds: float, workers: int) -> Ran:
    with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as folder:
        config = Path(folder) / "antiphon.toml"
        random_weights = "" if size == "echo" else "random_weights = true\n"
        config.write_text(
            f'[stage.moshi]\nsize = "{size}"\nbatch_size = {slots}\n{random_weights}'
            f"[duplex_session]\nmax_sessions = {slots}\n"
        )
        server = Server(
            "moshi", Path(folder), "--config", str(config), "--workers", str(workers), start_s=400
        )
        try:
            server.answered("/health")
            ran = asyncio.run(_talk(server, slots, seconds))
        finally:
            server.stop()
        _read(Path(folder) / "data", ran)
        return ran


async def _talk(server: Server, slots: int, seconds: float) -> Ran:
    ran = Ran(slots, [], [], [], [])
    until = time.monotonic() + SETTLE_S + seconds
    await asyncio.gather(*[_client(server, ran, number, until) for number in range(slots)])
    return ran


async def _client(server: Server, ran: Ran, number: int, until: float) -> None:
    await asyncio.sleep(number * FRAME_MS / 1000 / max(ran.slots, 1))
    url = server.url.replace("/v1/realtime", "/v1/audio/duplex")
    async with connect(url, proxy=None, compression=None, max_size=None) as socket:
        await socket.send('{"type": "open"}')
        while await socket.recv() != READY:
            pass
        reading = asyncio.create_task(_listen(socket, ran))
        await _speak(socket, ran, number, until)
        await asyncio.sleep(0.5)
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading


async def _speak(socket: Any, ran: Ran, number: int, until: float) -> None:
    frame = np.random.default_rng(number).normal(0, 0.1, FRAME_SAMPLES).astype("<f4").tobytes()
    due = time.monotonic()
    while due < until:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        await socket.send(frame)
        ran.sent += 1
        due += FRAME_MS / 1000


async def _listen(socket: Any, ran: Ran) -> None:
    came: list[float] = []
    began = time.monotonic()
    try:
        async for message in socket:
            if isinstance(message, bytes):
                ran.answered += 1
                if time.monotonic() - began > SETTLE_S:
                    came.append(time.monotonic())
    finally:
        ran.spacing += [(later - earlier) * 1000 for earlier, later in pairwise(came)]


def _read(data: Path, ran: Ran) -> None:
    """The ways of all frames, from the logs."""
    log = SegmentLog(data, deliver=lambda call: call())
    for head in log.sessions():
        _read_one(log, head.session, ran)
    log.close()


def _read_one(log: SegmentLog, session: SessionId, ran: Ran) -> None:
    """The stage tells waits and steps in the order of its answers, some time after them."""
    appended: dict[int, int] = {}
    asked: dict[int, int] = {}
    ways: list[float] = []
    told: dict[str, list[float]] = {"tick_wait_ms": [], "step_ms": []}
    for stored in log.read(session):
        match stored.event:
            case InputAppended(until_sample=until):
                appended[until] = stored.at.mono_ns
            case UnitSubmitted(work="unit", from_sample=start, until_sample=until):
                ran.substituted += start == until
                asked[stored.seq] = appended.get(until, stored.at.mono_ns)
            case AudioSpoken(operation=int(operation)) | ModelListened(operation=int(operation)):
                ways.append((stored.at.mono_ns - asked[operation]) / 1e6)
            case StageMeasured(name=name, each_us=each_us) if name in told:
                told[name] += [value / 1000 for value in each_us]
    frames = list(zip(ways, *told.values(), strict=False))[round(SETTLE_S * 1000 / FRAME_MS) :]
    ran.waited += [waited for _, waited, _ in frames]
    ran.stepped += [stepped for _, _, stepped in frames]
    ran.overhead += [way - waited - stepped for way, waited, stepped in frames]


def _of_bare(size: str, bare: Bare) -> list[Figure]:
    name = f"{size}, {bare.slots} slots, bare"
    return [
        Figure(f"{name}: burst step, p50", quantile(bare.burst, 0.5), "ms", None, len(bare.burst)),
        Figure(f"{name}: paced step, p95", quantile(bare.paced, 0.95), "ms", None, len(bare.paced)),
        Figure(f"{name}: ticks missed", float(bare.misses), "", 0.0, len(bare.paced)),
        Figure(f"{name}: GPU memory", bare.gpu_gib, "GiB"),
    ]


def _of_runtime(size: str, ran: Ran) -> Iterator[Figure]:
    name = f"{size}, {ran.slots} sessions"
    for what, times, share, limit in (
        ("runtime overhead", ran.overhead, 0.5, OVERHEAD_P50_MS),
        ("runtime overhead", ran.overhead, 0.99, OVERHEAD_P99_MS),
        ("wait for the tick", ran.waited, 0.5, None),
        ("step", ran.stepped, 0.5, None),
        ("step", ran.stepped, 0.95, None),
    ):
        yield Figure(f"{name}: {what}, p{share * 100:g}", quantile(times, share), "ms", limit, len(times))
    spread = [abs(gap - FRAME_MS) for gap in ran.spacing]
    yield Figure(
        f"{name}: spacing at the client, off {FRAME_MS} ms, p95",
        quantile(spread, 0.95),
        "ms",
        SPACING_MS,
        len(spread),
    )
    missed = sum(
        waited + stepped > 2 * FRAME_MS for waited, stepped in zip(ran.waited, ran.stepped, strict=True)
    )
    yield Figure(f"{name}: frames whose tick was missed", float(missed), "", 0.0, len(ran.waited))
    yield Figure(
        f"{name}: frames answered, of those sent", ran.answered / max(ran.sent, 1), "", None, ran.sent
    )
    yield Figure(f"{name}: frames of silence in the place of late ones", float(ran.substituted), "")


if __name__ == "__main__":
    main()
