"""How long a session is silent that goes to another serving process, and one whose process is killed.

    python -m bench.handover             a fresh session, one of ten minutes; 100 handovers and 10 kills each
    python -m bench.handover --short     a fresh one; 10 and 2

Two processes serve. Their client talks to the echo and takes its session from one to the other and back;
counted from the moment at which `session.resume` is sent on a connection that is open. Then the process that
has it is killed with SIGKILL, and the client tries again every RETRY_S; counted from the kill to the first
frame after the resume.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from antiphon.events.ids import SessionId
from bench.figures import Figure, quantile, show, write_json
from bench.machine import machine
from bench.processes import serving_processes
from bench.recorded import PIECE_BYTES, PIECE_MS, Left, write_session
from bench.server import Server

HANDOVER_P95_MS, KILL_P95_S = 400.0, 1.0
RETRY_S = 0.1
MOST_WAIT_S = 30.0
MADE_GOOD_S = 3.0
"""How long processes must serve between two kills, so that the server does not give up."""
_AUDIO = base64.b64encode(random.Random(0).randbytes(PIECE_BYTES)).decode()


class Moves(Struct, frozen=True):
    """Of one session, in seconds: to `session.resumed`, and to the first frame after it."""

    name: str
    greeted: list[float]
    heard: list[float]
    killed: list[float]


@click.command()
@click.option("--short", is_flag=True, help="Few of everything: whether it works at all.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Also write everything here.")
def main(short: bool, json_path: Path | None) -> None:
    """Measure; exit code 1 when a target is missed (never with --short)."""
    on = machine()
    click.echo(on)
    handovers, kills = (10, 2) if short else (100, 10)
    ages = [0.05] if short else [0.05, 10.0]
    moves = [_measure(minutes, handovers, kills) for minutes in ages]
    figures = [figure for one in moves for figure in _summary(one)]
    click.echo()
    show(figures)
    write_json(json_path, machine=on, figures=figures, moves=moves)
    if not short and any(figure.met is False for figure in figures):
        sys.exit(1)


def _summary(moves: Moves) -> Iterator[Figure]:
    for what, times, limit in (
        ("handover, greeted", moves.greeted, None),
        ("handover, first frame", moves.heard, HANDOVER_P95_MS),
    ):
        milliseconds = [seconds * 1000 for seconds in times]
        for share, most in ((0.5, None), (0.95, limit)):
            value = quantile(milliseconds, share)
            yield Figure(f"{moves.name}: {what}, p{share * 100:g}", value, "ms", most, len(times))
    for share, most in ((0.5, None), (0.95, KILL_P95_S)):
        value = quantile(moves.killed, share)
        yield Figure(
            f"{moves.name}: kill -9 to first frame, p{share * 100:g}", value, "s", most, len(moves.killed)
        )


def _measure(minutes: float, handovers: int, kills: int) -> Moves:
    with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as folder:
        left = write_session(Path(folder) / "data", SessionId("sess_moves"), minutes)
        server = Server("echo", Path(folder), "--workers", "2")
        try:
            server.answered("/health")
            _both(server)
            return asyncio.run(_move(server, left, f"{minutes:g} min", handovers, kills))
        finally:
            server.stop()


def _both(server: Server) -> list[int]:
    """The processes, once both serve."""
    server.has_workers(2)
    return serving_processes(server.pid)


async def _move(server: Server, left: Left, name: str, handovers: int, kills: int) -> Moves:
    client = _Client(server, left)
    pids = _both(server)
    await client.connect_to(pids[0], pids)
    await client.resume()
    greeted, heard = [], []
    for hop in range(handovers):
        await client.talk(PIECE_MS * 3 / 1000)
        former = client.socket
        await client.connect_to(pids[(hop + 1) % 2], pids)
        seconds = await client.resume()
        greeted.append(seconds[0])
        heard.append(seconds[1])
        former.transport.abort()
    killed = []
    at = pids[handovers % 2]
    for _ in range(kills):
        await client.talk(MADE_GOOD_S)
        killed.append(await client.outlive(at))
        pids = await asyncio.to_thread(_both, server)
        at = pids[0]
        await client.connect_to(at, pids)
        await client.resume()
    return Moves(name, greeted, heard, killed)


class _Client:
    """One that talks, and remembers what it has heard."""

    def __init__(self, server: Server, left: Left) -> None:
        self._url = f"{server.url}?duplex=1&autostart=0"
        self._session, self._token, self._last = left.session, left.token, left.last
        self._said = 0
        self.socket: ClientConnection

    async def connect_to(self, pid: int, pids: list[int]) -> None:
        """A connection that this process serves: the others are stopped for that moment."""
        others = [other for other in pids if other != pid]
        with _stopped(others):
            self.socket = await connect(self._url, proxy=None, compression=None, max_size=None)

    async def resume(self) -> tuple[float, float]:
        """Take the session; seconds to the greeting, and to the first frame. A frame is asked for."""
        began = time.perf_counter()
        asked: dict[str, Any] = {"type": "session.resume", "session_id": self._session}
        asked |= {"resume_token": self._token, "last_received_server_event_seq": self._last}
        await self.socket.send(msgspec.json.encode(asked), text=True)
        resumed = await self._next()
        greeted = time.perf_counter() - began
        if resumed["type"] != "session.resumed":
            raise click.ClickException(f"the client may not come back: {resumed}")
        self._token = resumed["resume_token"]
        await self._say()
        await self._next()
        return greeted, time.perf_counter() - began

    async def outlive(self, pid: int) -> float:
        """Kill the process that serves it; seconds until a frame is there again."""
        began = time.perf_counter()
        os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self._next()
        while True:
            try:
                self.socket = await connect(self._url, proxy=None, compression=None, max_size=None)
                await self.resume()
                return time.perf_counter() - began
            except (OSError, InvalidHandshake, ConnectionClosed, TimeoutError):
                await asyncio.sleep(RETRY_S)

    async def talk(self, seconds: float) -> None:
        """In real time; what comes meanwhile is read."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            await self._say()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PIECE_MS / 1000):
                    while True:
                        await self._next()

    async def _say(self) -> None:
        self._said += 1
        frame = {"type": "input_audio_buffer.append", "audio": _AUDIO, "event_id": f"moved_{self._said}"}
        await self.socket.send(msgspec.json.encode(frame), text=True)

    async def _next(self) -> dict[str, Any]:
        frame: dict[str, Any] = msgspec.json.decode(await asyncio.wait_for(self.socket.recv(), MOST_WAIT_S))
        number = frame.get("server_event_seq", self._last)
        if number < self._last or (number == self._last and "server_event_seq" in frame):
            raise click.ClickException(f"frame {number} came twice")
        self._last = number
        return frame


@contextlib.contextmanager
def _stopped(pids: list[int]) -> Iterator[None]:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


if __name__ == "__main__":
    main()
