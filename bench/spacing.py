"""How evenly sound comes at a client of the Moshi wire, who plays it as it comes.

    python -m bench.spacing                 16 clients for a minute
    python -m bench.spacing --short         2 clients for five seconds: does it work

`antiphon serve --stage moshi --size echo` (no model, the real lockstep), and clients in a process of their
own: each sends 80 ms of Opus every 80 ms and notes when each message of sound arrives. The first second does
not count.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import click
from websockets.asyncio.client import ClientConnection, connect

from antiphon.media.opus import OpusWriter
from antiphon.projections.personaplex.wires import AUDIO, READY
from bench.figures import Figure, quantile, show, write_json
from bench.machine import machine
from bench.questions import questions
from bench.server import Server

FRAME_MS = 80
FRAME_BYTES = 2 * 24 * FRAME_MS
WITHIN_MS = 20
SETTLES_S = 1.0


@click.command(help=__doc__)
@click.option("--clients", type=int, default=16, show_default=True)
@click.option("--seconds", type=float, default=60.0, show_default=True)
@click.option("--short", is_flag=True, help="2 clients for five seconds.")
@click.option("--json", "path", type=click.Path(path_type=Path), help="Write the figures there, too.")
def main(clients: int, seconds: float, short: bool, path: Path | None) -> None:
    clients, seconds = (2, 5.0) if short else (clients, seconds)
    with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as folder:
        server = Server("moshi", Path(folder), "--size", "echo", "--batch-size", str(clients))
        try:
            server.answered("/health")
            with multiprocessing.get_context("spawn").Pool(1) as apart:
                gaps = apart.apply(measured, (server.port, clients, seconds))
        finally:
            server.stop()
    figures = [
        Figure(f"spacing at {clients} clients, p50", quantile(gaps, 0.5), "ms", None, len(gaps)),
        Figure("spacing, p5", quantile(gaps, 0.05), "ms", FRAME_MS - WITHIN_MS, len(gaps), at_least=True),
        Figure("spacing, p95", quantile(gaps, 0.95), "ms", FRAME_MS + WITHIN_MS, len(gaps)),
        Figure("spacing, largest", max(gaps, default=None), "ms", None, len(gaps)),
    ]
    show(figures)
    write_json(path, machine=machine(), figures=figures)


def measured(port: int, clients: int, seconds: float) -> list[float]:
    """Milliseconds between one message of sound and the next, of all clients."""
    return asyncio.run(_all(port, clients, seconds))


async def _all(port: int, clients: int, seconds: float) -> list[float]:
    talking = [asyncio.create_task(_talk(port, n, seconds)) for n in range(clients)]
    return [gap for gaps in await asyncio.gather(*talking) for gap in gaps]


async def _talk(port: int, number: int, seconds: float) -> list[float]:
    times: list[float] = []
    # The clients of one server do not all send in the same moment.
    await asyncio.sleep(number * 0.03)
    url = f"ws://127.0.0.1:{port}/api/chat"
    async with connect(url, proxy=None, compression=None, max_size=None) as socket:
        while (await socket.recv())[0] != READY:
            pass
        until = time.monotonic() + seconds
        speaking = asyncio.create_task(_speak(socket, number, until))
        while time.monotonic() < until:
            if (await socket.recv())[0] == AUDIO:
                times.append(time.monotonic())
        await speaking
    settled = [at for at in times if at > until - seconds + SETTLES_S]
    return [1000 * (later - earlier) for earlier, later in pairwise(settled)]


async def _speak(socket: ClientConnection, number: int, until: float) -> None:
    writer, known = OpusWriter(), questions()
    pcm = known[number % len(known)].pcm()
    began, n = time.monotonic(), 0
    while time.monotonic() < until:
        at = n * FRAME_BYTES % (len(pcm) // FRAME_BYTES * FRAME_BYTES)
        await socket.send(bytes((AUDIO,)) + writer.append(pcm[at : at + FRAME_BYTES]))
        n += 1
        await asyncio.sleep(max(began + n * FRAME_MS / 1000 - time.monotonic(), 0))


if __name__ == "__main__":
    main()
