"""Through everything: clients, session actors, the log, the links, the stage's process.

A client sends a second of sound every second, in five pieces, over /v1/realtime?duplex=1. Counted from the
log: from the moment at which the piece that makes a unit whole is in it, to the moment at which the first
word (the last sound) of its answer is. What of that is the thinker's the stage says itself.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect

from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.vocabulary import (
    AudioSpoken,
    InputAppended,
    ModelListened,
    StageMeasured,
    TextSpoken,
    UnitSubmitted,
)
from bench.server import Server
from bench.thinker.engines import Choice
from bench.thinker.figures import Run
from bench.thinker.stage import TOKENS
from bench.thinker.units import UNCOUNTED, UNIT_S, Told, phase

NAME = "bench-thinker"
PIECES = 5
START_S = 500.0
_PIECE = base64.b64encode(bytes(48_000 // PIECES)).decode()


def measure(
    choice: Choice, name: str, cases: list[tuple[int, int]], units: int, *, spread: bool, workers: int
) -> Iterator[Run]:
    """`cases`: (sessions, context). One server for all of them."""
    with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as folder:
        with _server(choice, Path(folder), workers) as server:
            begun = []
            for sessions, context in cases:
                server.is_left()  # by those of the case before
                begun.append(asyncio.run(_talk(server, sessions, context, units, spread)))
        log = SegmentLog(Path(folder) / "data", deliver=lambda call: call())
        for (sessions, context), ids in zip(cases, begun, strict=True):
            told, added = [], []
            for session in ids:
                for one, more in list(_read(log, SessionId(session)))[UNCOUNTED:units]:
                    told.append(one)
                    added.append(more)
            yield Run(name, "runtime", sessions, context, told, added)
        log.close()


@contextlib.contextmanager
def _server(choice: Choice, folder: Path, workers: int) -> Iterator[Server]:
    """Ours is found as any other package's stage is: by an entry point."""
    found = folder / "site" / "bench_thinker-0.dist-info"
    found.mkdir(parents=True)
    (found / "METADATA").write_text("Metadata-Version: 2.1\nName: bench-thinker\nVersion: 0\n")
    (found / "entry_points.txt").write_text(f"[antiphon.stages]\n{NAME} = bench.thinker.stage:ThinkerStage\n")
    here = str(Path(__file__).parents[2])
    others = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(part for part in (str(found.parent), here, others) if part)
    config = folder / "antiphon.toml"
    said = "".join(f"{field} = {json.dumps(getattr(choice, field))}\n" for field in choice.__struct_fields__)
    config.write_text(f'[stage."{NAME}"]\n{said}[duplex_session]\nmax_sessions = {choice.sessions}\n')
    server = Server(NAME, folder, "--config", str(config), "--workers", str(workers), start_s=START_S)
    try:
        server.answered("/health")
        server.has_workers(workers)
        yield server
    finally:
        server.stop()
        os.environ["PYTHONPATH"] = others


async def _talk(server: Server, sessions: int, context: int, units: int, spread: bool) -> list[str]:
    """The sessions' ids."""
    ready = asyncio.Barrier(sessions)
    phases = [phase(number, sessions) if spread else 0.0 for number in range(sessions)]
    return list(await asyncio.gather(*(_client(server, context, units, ready, after) for after in phases)))


async def _client(server: Server, context: int, units: int, ready: asyncio.Barrier, after: float) -> str:
    session = {
        "input_audio_format": {"type": "pcm16", "rate": 24_000},
        "output_audio_format": {"type": "pcm16", "rate": 24_000},
        "extra_body": {"auto_response": True, "fill": context},
    }
    async with connect(f"{server.url}?duplex=1", proxy=None, compression=None, max_size=None) as socket:
        await socket.send(json.dumps({"type": "session.update", "session": session}))
        while (event := json.loads(await socket.recv()))["type"] != "session.created":
            if event["type"] == "error":
                raise RuntimeError(event["error"])
        await _speak(socket, 1)
        await _answered(socket)
        await ready.wait()
        reading = asyncio.create_task(_drain(socket))
        await asyncio.sleep(after)
        await _speak(socket, units - 1)
        await asyncio.sleep(UNIT_S)  # the last unit's answer is on its way
        await socket.send(json.dumps({"type": "session.close"}))  # its place is the next case's
        await reading
        return str(event["session"]["id"])


async def _speak(socket: Any, units: int) -> None:
    piece = json.dumps({"type": "input_audio_buffer.append", "audio": _PIECE})
    due = time.monotonic()
    for _ in range(units * PIECES):
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        await socket.send(piece)
        due += UNIT_S / PIECES


async def _answered(socket: Any) -> None:
    """The first unit is spoken, when the whole context is held: the units that count do not wait for that."""
    while json.loads(await socket.recv())["type"] != "response.output_audio.delta":
        pass


async def _drain(socket: Any) -> None:
    """Until the session is over."""
    async for _ in socket:
        pass


def _read(log: SegmentLog, session: SessionId) -> Iterator[tuple[Told, tuple[float, float]]]:
    """Each unit, and what of it was not the thinker's: (to the first token, in all), in ms."""
    appended: dict[int, int] = {}
    asked: dict[int, int] = {}
    first: dict[int, int] = {}
    tokens: dict[int, tuple[int, ...]] = {}
    for stored in log.read(session):
        now = stored.at.mono_ns
        match stored.event:
            case InputAppended(until_sample=until):
                appended[until] = now
            case UnitSubmitted(work="unit", until_sample=until):
                asked[stored.seq] = appended.get(until, now)
            case TextSpoken(operation=int(operation)):
                first.setdefault(operation, now)
            case StageMeasured(name=name, operation=int(operation), each_us=each) if name == TOKENS:
                tokens[operation] = each
            case AudioSpoken(operation=int(operation)) | ModelListened(operation=int(operation)):
                if operation in tokens:
                    yield _unit(asked[operation], first.get(operation, now), now, tokens.pop(operation))


def _unit(asked: int, first: int, last: int, each_us: tuple[int, ...]) -> tuple[Told, tuple[float, float]]:
    """The tokens between the first and the last are where the thinker put them."""
    listened = len(each_us) == 1
    times = [first]
    for gap in each_us[1:-1]:
        times.append(times[-1] + gap * 1000)
    told = Told(asked, times if listened else [*times, last], listened)
    whole_ms = sum(each_us) / 1000
    return told, (told.first_ms - each_us[0] / 1000, told.whole_ms - whole_ms)
