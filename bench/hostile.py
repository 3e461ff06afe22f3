"""What strangers and enemies cost: memory, and the time of those who only want to talk.

    python -m bench.hostile              1,000 strangers; 200 enemies beside 20 speakers, three rounds
    python -m bench.hostile --short      100, and 24 beside 4, one round

Strangers open a connection and no session, and send of the largest frame there is as much as is taken. What
they add to the serving process is the most that it holds while they are there. Enemies do not read, read a
byte a second, flood, rave, or hardly connect (enemies.py). In every round the speakers are timed alone and
beside them.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import uvloop
from msgspec import Struct
from websockets.frames import Frame, Opcode

from bench.crowd import crowd
from bench.enemies import UPGRADE
from bench.figures import Figure, quantile, show, write_json
from bench.machine import machine
from bench.processes import resident_bytes, serving_process
from bench.server import Server, serving

MOST_MB, MOST_RATIO = 300.0, 2.0
LARGEST = bytes(Frame(Opcode.TEXT, b"x" * (15 << 20)).serialize(mask=True))[:-1]
"""All of the largest frame but its last byte."""
WAITING = UPGRADE.replace(b"/v1/realtime", b"/v1/realtime?duplex=1&autostart=0")
STAY_S = 8.0
"""Less than the server waits for a first message."""
LOOK_EVERY_S = 0.02
GATHER_S = 2.0
"""Until the enemies are all there."""


class Heard(Struct, frozen=True):
    """What speakers had of their answers, in one round."""

    p50_ms: float
    p99_ms: float
    back: float
    lost: int


class Round(Struct, frozen=True):
    alone: Heard
    beside: Heard
    serving_mb: float
    """Resident memory of the serving process while the enemies are there."""


@click.command()
@click.option("--strangers", type=click.IntRange(1, 4_000), default=1_000, show_default=True)
@click.option("--enemies", type=click.IntRange(1, 1_000), default=200, show_default=True)
@click.option("--speakers", type=click.IntRange(1, 100), default=20, show_default=True)
@click.option("--rounds", type=click.IntRange(1, 20), default=3, show_default=True)
@click.option("--seconds", type=click.FloatRange(1, 60), default=5.0, show_default=True)
@click.option("--short", is_flag=True, help="Few of each: whether it works at all.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Also write everything here.")
def main(
    strangers: int,
    enemies: int,
    speakers: int,
    rounds: int,
    seconds: float,
    short: bool,
    json_path: Path | None,
) -> None:
    """Measure what hostile connections cost; exit code 1 when a target is missed (never with --short)."""
    if short:
        strangers, enemies, speakers, rounds, seconds = 100, 24, 4, 1, 2.0
    on = machine()
    click.echo(on)
    with serving("echo") as server:
        added_mb = asyncio.run(let_in(server, strangers))
    click.echo(f"{strangers} strangers add {added_mb:.0f} MB")
    seen = [beside(enemies, speakers, seconds) for _ in range(rounds)]
    figures = summary(added_mb, seen, strangers, enemies, speakers)
    click.echo()
    show(figures)
    write_json(json_path, machine=on, figures=figures, rounds=seen)
    if not short and any(figure.met is False for figure in figures):
        sys.exit(1)


def summary(added_mb: float, seen: list[Round], strangers: int, enemies: int, speakers: int) -> list[Figure]:
    """Medians of the rounds; the ratio is that of the medians."""
    alone = quantile([one.alone.p99_ms for one in seen], 0.5) or 0.0
    beside_ms = quantile([one.beside.p99_ms for one in seen], 0.5) or 0.0
    back = min(one.beside.back for one in seen) * 100
    n, resident_mb = len(seen), max(one.serving_mb for one in seen)
    return [
        Figure(f"memory added by {strangers} strangers, at most", added_mb, "MB", MOST_MB),
        Figure(f"added latency p99, {speakers} speakers alone", alone, "ms", None, n),
        Figure(f"added latency p99, beside {enemies} enemies", beside_ms, "ms", None, n),
        Figure("the latter by the former", beside_ms / alone if alone else None, "x", MOST_RATIO, n),
        Figure("frames back, beside enemies, worst round", back, "%", 99.5, n, at_least=True),
        Figure("speakers lost", float(sum(one.beside.lost for one in seen)), "", 0.0, n),
        Figure("serving process beside enemies, resident, at most", resident_mb, "MB", None, n),
    ]


# --- strangers --------------------------------------------------------------------------------------------


async def let_in(server: Server, count: int) -> float:
    """The most that they add to the serving process, in MB."""
    pid = serving_process(server.pid)
    before = most = resident_bytes(pid)
    strangers = [asyncio.create_task(_stranger(server.port)) for _ in range(count)]
    until = time.monotonic() + STAY_S
    while time.monotonic() < until:
        await asyncio.sleep(LOOK_EVERY_S)
        most = max(most, resident_bytes(pid))
    for stranger in strangers:
        stranger.cancel()
    await asyncio.gather(*strangers, return_exceptions=True)
    return (most - before) / 1e6


async def _stranger(port: int) -> None:
    loop = asyncio.get_running_loop()
    with socket.socket() as sock:
        sock.setblocking(False)
        await loop.sock_connect(sock, ("127.0.0.1", port))
        await loop.sock_sendall(sock, WAITING)
        await loop.sock_recv(sock, 1024)
        await loop.sock_sendall(sock, memoryview(LARGEST))
        await asyncio.Event().wait()


# --- enemies ----------------------------------------------------------------------------------------------


def beside(enemies: int, speakers: int, seconds: float) -> Round:
    """On a server of its own: sessions of enemies that are gone wait for them, and keep their places."""
    with serving("echo") as server:
        alone = _listen(server.url, speakers, seconds)
        with _enemies(server.port, enemies):
            time.sleep(GATHER_S)
            crowded = _listen(server.url, speakers, seconds)
            resident_mb = resident_bytes(serving_process(server.pid)) / 1e6
    one = Round(alone, crowded, resident_mb)
    click.echo(f"p99 {alone.p99_ms:.1f} ms alone, {crowded.p99_ms:.1f} ms beside {enemies} enemies")
    return one


def _listen(url: str, speakers: int, seconds: float) -> Heard:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        heard = runner.run(crowd(url, speakers, seconds, bare=False, mark=lambda: None))
    return Heard(
        p50_ms=(quantile(heard.latencies, 0.5) or 0.0) * 1000,
        p99_ms=(quantile(heard.latencies, 0.99) or 0.0) * 1000,
        back=len(heard.latencies) / max(heard.sent, 1),
        lost=heard.lost,
    )


@contextlib.contextmanager
def _enemies(port: int, count: int) -> Iterator[None]:
    crowd_of_them = subprocess.Popen([sys.executable, "-m", "bench.enemies", str(port), str(count)])
    try:
        yield
    finally:
        crowd_of_them.terminate()
        crowd_of_them.wait(10)


if __name__ == "__main__":
    main()
