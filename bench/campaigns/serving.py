"""kill -9 of a real `antiphon serve` while clients talk: every log verifies, and holds whatever was shown."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import random
import signal
import time
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from crc32c import crc32c
from msgspec import Struct, field
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from antiphon.events.errors import LogError, Sealed
from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect
from antiphon.events.verify import verify
from antiphon.projections.dialects import DIALECTS
from antiphon.replay.verify import verify as verify_replay
from bench.processes import serving_process, tree
from bench.server import Server

from .outcome import Tally, Violation
from .stores import handle

FULL, SHORT = 20, 3
CLIENTS = 6
FRAME_S, FRAME_BYTES = 0.08, 3840
VICTIMS = ("all its processes", "its serving process", "its launcher")
GONE_S = 20.0

Frame = dict[str, Any]


class Heard(Struct):
    """Every frame that one client received."""

    frames: list[Frame] = field(default_factory=list)

    @property
    def session(self) -> SessionId:
        return SessionId(self.frames[0]["session"]["id"])


def run(count: int, seed: int, folder: Path, tally: Tally) -> None:
    """All servers on one data directory, one after the other. Raises Violation."""
    rng = random.Random(f"{seed}/serve")
    store = folder / "data"
    untouched: dict[Path, bytes] = {}
    for _ in range(count):
        victim, seconds = rng.choice(VICTIMS), rng.uniform(0.2, 3.0)
        tally.next(f"{victim} killed after {seconds:.2f} s of talking")
        tally.found[f"{victim} killed"] += 1
        server = Server("echo", folder)
        server.answered("/health")
        processes = tree(server.pid)
        doomed = {"all its processes": processes, "its launcher": [server.pid]}.get(victim)
        heard = asyncio.run(_talk(server.url, rng, seconds, doomed or [serving_process(server.pid)]))
        server.stop()
        _await_gone(processes)
        with handle(store) as log:
            for one in heard:
                _check(log, one, tally)
        if any(_digest(path) != before for path, before in untouched.items()):
            raise Violation("disturbed", "the log of a session that had ended was touched")
        untouched = {path: _digest(path) for path in store.glob("sessions/*/*/*/*.[lb]*")}


# --- talking ----------------------------------------------------------------------------------------------


async def _talk(url: str, rng: random.Random, seconds: float, doomed: list[int]) -> list[Heard]:
    """Let clients talk for so long, then kill; what each had received."""
    pcm = [rng.randbytes(FRAME_BYTES) for _ in range(CLIENTS)]
    talking = [asyncio.create_task(_client(url, voice)) for voice in pcm]
    await asyncio.sleep(seconds)
    for pid in doomed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return [heard for heard in await asyncio.gather(*talking) if heard.frames]


async def _client(url: str, pcm: bytes) -> Heard:
    heard = Heard()
    with contextlib.suppress(OSError, ConnectionClosed):
        async with connect(url, proxy=None, compression=None, max_size=None) as socket:
            speaking = asyncio.create_task(_speak(socket, pcm))
            try:
                async for frame in socket:
                    heard.frames.append(msgspec.json.decode(frame))
            finally:
                speaking.cancel()
    return heard


async def _speak(socket: ClientConnection, pcm: bytes) -> None:
    audio = base64.b64encode(pcm).decode()
    no_turns = {"type": "realtime", "audio": {"input": {"turn_detection": None}}}
    with contextlib.suppress(ConnectionClosed):
        await socket.send(msgspec.json.encode({"type": "session.update", "session": no_turns}), text=True)
        while True:
            frame = {"type": "input_audio_buffer.append", "audio": audio}
            await socket.send(msgspec.json.encode(frame), text=True)
            await asyncio.sleep(FRAME_S)


def _await_gone(processes: list[int]) -> None:
    """Whatever was not killed has noticed and ended."""
    deadline = time.monotonic() + GONE_S
    while any(Path(f"/proc/{pid}/cmdline").exists() and _alive(pid) for pid in processes):
        if time.monotonic() > deadline:
            raise Violation("disturbed", "processes of a killed server live on")
        time.sleep(0.02)


def _alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


# --- what is there ----------------------------------------------------------------------------------------


def _check(log: SegmentLog, heard: Heard, tally: Tally) -> None:
    session = heard.session
    try:
        shown = _projected(log, session)
        report, replayed = verify(log, session), verify_replay(log, session)
        next_seq = _opened(log, session)
    except LogError as error:
        raise Violation("undetected", f"session {session}: {error}") from error
    if not report.sound:
        raise Violation("undetected", f"session {session}: {report.findings[0]}")
    if not replayed.same or next_seq != report.events:
        raise Violation("lost", f"session {session} projects to other frames than were sent")
    for frame in heard.frames:
        if frame["event_id"].startswith("event_reply_"):
            continue
        if frame["event_id"] not in shown:
            raise Violation("lost", f"session {session}: {frame['type']} was shown and is not in the log")
        if without_audio(public(frame)) != public(shown[frame["event_id"]]):
            raise Violation("undetected", f"session {session}: {frame['type']} is not what was shown")
    tally.found["logs verified"] += 1
    tally.found["frames found in them"] += len(heard.frames)
    tally.found["events"] += report.events


def _opened(log: SegmentLog, session: SessionId) -> int:
    """The next seq, as a new writer finds it. A serving process that has time to says goodbye, and seals."""
    try:
        lease, head = log.open(session, expect=Expect.RESUME, owner="the campaign")
    except Sealed:
        return log.head(session).next_seq
    log.release(lease)
    return head.next_seq


def _projected(log: SegmentLog, session: SessionId) -> dict[str, Frame]:
    """What the log's events amount to for the client, by id; audio as its checksum."""
    projection = DIALECTS["realtime"]
    view, shown = projection.begin(1), dict[str, Frame]()
    for stored in log.read(session):
        view, frames = projection.step(view, stored)
        for made in frames:
            frame = msgspec.json.decode(projection.encode(made))
            if stored.blob is not None and "delta" in frame:
                frame["delta"] = stored.blob.crc32c
            shown[frame["event_id"]] = frame
    return shown


def public(frame: Frame) -> Frame:
    """Without what only its client knows."""
    shown = {key: value for key, value in frame.items() if key != "resume_token"}
    if isinstance(session := shown.get("session"), dict):
        shown["session"] = {key: value for key, value in session.items() if key != "resume_token"}
    return shown


def without_audio(frame: Frame) -> Frame:
    if frame["type"] != "response.output_audio.delta":
        return frame
    return {**frame, "delta": crc32c(base64.b64decode(frame["delta"]))}


def _digest(path: Path) -> bytes:
    return blake2b(path.read_bytes()).digest()
