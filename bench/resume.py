"""How long a client that comes back waits: to be greeted, and for the first frame that it missed.

    python -m bench.resume               ten minutes and an hour; 200 resumes of a live session
    python -m bench.resume --short       half a minute and one, 20 resumes

A session of the echo is written as it would be after so many minutes (recorded.py), and the server started
on it: the first resume finds it in the log (cold). From then on the session is live and its client talks, is
cut off, and resumes again and again with seconds of frames missing (hot), while others talk. Counted from the
moment at which `session.resume` is sent on a connection that is open. `turns`: an answer ends every eight
seconds, as in a conversation; `one answer`: it never did.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import multiprocessing
import random
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

from antiphon.events.ids import SessionId
from bench.crowd import crowd
from bench.figures import Figure, quantile, show, write_json
from bench.machine import machine
from bench.recorded import PIECE_BYTES, PIECE_MS, TURN_S, Left, write_session
from bench.server import Server

HOT_P99_MS, COLD_S = 50.0, 1.0
TALKERS = 10
MISSED = 40
"""Frames that the client says it has not had: about two seconds of the answer."""
MOST_WAIT_S = 60.0
_AUDIO = base64.b64encode(random.Random(0).randbytes(PIECE_BYTES)).decode()

Shape = tuple[str, float, float | None, bool]
"""What it is called, minutes, seconds of a turn, and whether the server kept checkpoints of it."""


class Resume(Struct, frozen=True):
    """One of them, in seconds."""

    greeted_s: float
    missed_s: float
    """To the first frame that was missed."""


class Return(Struct, frozen=True):
    """Of a session of one shape: the first, cold; and the others, hot."""

    name: str
    minutes: float
    events: int
    turns: bool
    kept: bool
    cold: Resume
    hot: list[Resume]


@click.command()
@click.option("--resumes", type=click.IntRange(1, 2_000), default=200, show_default=True, help="Hot ones.")
@click.option("--talkers", type=click.IntRange(0, 100), default=TALKERS, show_default=True)
@click.option("--short", is_flag=True, help="Small sessions and few resumes: whether it works at all.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Also write everything here.")
def main(resumes: int, talkers: int, short: bool, json_path: Path | None) -> None:
    """Measure resumes; exit code 1 when a target is missed (never with --short)."""
    on = machine()
    click.echo(on)
    minutes, long = (0.5, 1.0) if short else (10.0, 60.0)
    resumes, talkers = (min(resumes, 20), min(talkers, 2)) if short else (resumes, talkers)
    shapes: list[Shape] = [
        (f"{minutes:g} min, turns", minutes, TURN_S, True),
        (f"{minutes:g} min, one answer", minutes, None, True),
        (f"{minutes:g} min, no checkpoints", minutes, TURN_S, False),
        (f"{long:g} min, turns", long, TURN_S, True),
        (f"{long:g} min, no checkpoints", long, TURN_S, False),
    ]
    returns = measure(shapes, resumes, talkers)
    figures = summary(returns)
    click.echo()
    show(figures)
    write_json(json_path, machine=on, figures=figures, returns=returns)
    if not short and any(figure.met is False for figure in figures):
        sys.exit(1)


def summary(returns: list[Return]) -> list[Figure]:
    """Live sessions of ten minutes have a target; cold ones of an hour, too, if there are checkpoints."""
    figures: list[Figure] = []
    shortest = min(one.minutes for one in returns)
    for one in returns:
        hot = HOT_P99_MS if one.minutes == shortest else None
        cold = COLD_S if one.kept or one.minutes == shortest else None
        greeted = [resume.greeted_s * 1000 for resume in one.hot]
        missed = [resume.missed_s * 1000 for resume in one.hot]
        count = len(one.hot)
        figures += [
            Figure(f"{one.name}: cold, to the first missed frame", one.cold.missed_s, "s", cold),
            Figure(f"{one.name}: hot, greeted, p50", quantile(greeted, 0.5), "ms", None, count),
            Figure(f"{one.name}: hot, greeted, p99", quantile(greeted, 0.99), "ms", hot, count),
            Figure(f"{one.name}: hot, first missed frame, p50", quantile(missed, 0.5), "ms", None, count),
            Figure(f"{one.name}: hot, first missed frame, p99", quantile(missed, 0.99), "ms", hot, count),
        ]
    return figures


def measure(shapes: list[Shape], resumes: int, talkers: int) -> list[Return]:
    """A server of its own for each, so that every first resume is one after a restart."""
    returns: list[Return] = []
    for n, (name, minutes, turn_s, kept) in enumerate(shapes):
        with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as folder:
            data, session = Path(folder) / "data", SessionId(f"sess_{n}")
            left = write_session(data, session, minutes, turn_s=turn_s, with_checkpoints=kept)
            server = Server("echo", Path(folder))
            try:
                server.answered("/health")
                cold, hot = asyncio.run(_come_back(server.url, left, resumes, talkers))
            finally:
                server.stop()
        returns.append(Return(name, minutes, left.events, turn_s is not None, kept, cold, hot))
        click.echo(f"{name}: {left.events} events; cold {cold.missed_s:.2f} s")
    return returns


# --- the client that comes back ---------------------------------------------------------------------------


async def _come_back(url: str, left: Left, resumes: int, talkers: int) -> tuple[Resume, list[Resume]]:
    client = _Client(url, left)
    cold = await client.resume()
    hot: list[Resume] = []
    with _talking(url, talkers):
        await client.talk(1.0)
        for _ in range(resumes):
            client.cut()
            hot.append(await client.resume())
            await client.talk(PIECE_MS / 1000)
    client.cut()
    return cold, hot


class _Client:
    def __init__(self, url: str, left: Left) -> None:
        self._url, self._session, self._token = f"{url}?duplex=1&autostart=0", left.session, left.token
        self._numbers: list[int] = [left.last - 64 * MISSED, left.last]
        self._said = 0
        self._socket: ClientConnection

    async def resume(self) -> Resume:
        """Take the place again, with the last frames missing, and read them."""
        after, last = self._numbers[-min(len(self._numbers), MISSED)], self._numbers[-1]
        self._socket = await connect(self._url, proxy=None, compression=None, max_size=None)
        asked: dict[str, Any] = {"type": "session.resume", "session_id": self._session}
        asked["resume_token"] = self._token
        asked["last_received_server_event_seq"] = after
        async with asyncio.timeout(MOST_WAIT_S):
            began = time.perf_counter()
            await self._socket.send(msgspec.json.encode(asked), text=True)
            resumed = await self._next()
            greeted_s = time.perf_counter() - began
            if resumed["type"] != "session.resumed":
                raise click.ClickException(f"the client may not come back: {resumed}")
            self._token = resumed["resume_token"]
            self._numbers = [number for number in self._numbers if number <= after]
            frame = await self._next()
            missed_s = time.perf_counter() - began
            while frame.get("server_event_seq", -1) < last:
                frame = await self._next()
        return Resume(greeted_s, missed_s)

    async def talk(self, seconds: float) -> None:
        """In real time; what comes meanwhile is read."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._said += 1
            frame = {"type": "input_audio_buffer.append", "audio": _AUDIO, "event_id": f"hot_{self._said}"}
            await self._socket.send(msgspec.json.encode(frame), text=True)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PIECE_MS / 1000):
                    while True:
                        await self._next()

    async def _next(self) -> dict[str, Any]:
        frame: dict[str, Any] = msgspec.json.decode(await self._socket.recv())
        if (number := frame.get("server_event_seq")) is not None:
            self._numbers.append(number)
        return frame

    def cut(self) -> None:
        self._socket.transport.abort()


# --- the others -------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _talking(url: str, talkers: int) -> Iterator[None]:
    """Speakers in a process of their own, so that they do not keep the client waiting."""
    if not talkers:
        yield
        return
    others = multiprocessing.get_context("spawn").Process(target=_talk, args=(url, talkers), daemon=True)
    others.start()
    try:
        yield
    finally:
        others.terminate()
        others.join(10)


def _talk(url: str, talkers: int) -> None:
    asyncio.run(crowd(url, talkers, 600.0, bare=False, mark=lambda: None))


if __name__ == "__main__":
    main()
