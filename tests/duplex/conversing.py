"""A scripted model in its own process behind a real server, and a client that talks to it in duplex.

The model hears in units of UNIT_MS and takes COMPUTE_MS over each. What it says of a unit tells how loud that
was, so that a test knows which input an answer belongs to.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
from array import array
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from websockets.asyncio.client import connect

from antiphon.actors.stages.scripted.units import Unit
from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.projections.measures import Measures, step
from antiphon.replay.verify import verify
from tests.projections.duplex_laws import check
from tests.serving import RunningServer, running
from tests.web.wire import Wire

UNIT_MS = 200
COMPUTE_MS = 20
RATE = 24_000
AUTO = {"extra_body": {"auto_response": True}}

LISTENS = Unit()


def speaks(text: str = "heard {loudest}. ", **what: Any) -> Unit:
    return Unit(does="speak", text=text, **what)


def ends(text: str = "heard {loudest}.", **what: Any) -> Unit:
    """Speaks, and with that its turn ends."""
    return Unit(does="speak", text=text, turn_ends=True, **what)


_names = itertools.count()


@contextlib.contextmanager
def model(folder: Path, *units: Unit, ready: bool = True, **what: Any) -> Iterator[RunningServer]:
    """A server whose model does that with the units of every session."""
    script = {
        "hears": "continuously",
        "unit_ms": UNIT_MS,
        "compute_ms": COMPUTE_MS,
        "transcribes": False,
        "reads": False,
        "response_options": (),
        "units": units,
        **what,
    }
    written = folder / f"script-{next(_names)}.json"
    written.write_bytes(msgspec.json.encode(script))
    config = written.with_suffix(".toml")
    config.write_text(f'[stage.scripted]\nscript = "{written}"\n')
    with running(folder / "data", "--config", str(config), stage="scripted", ready=ready) as server:
        yield server


def sound(level: int, ms: int = UNIT_MS) -> bytes:
    """So loud throughout: what the client's edge takes for speech."""
    return array("h", [level] * (RATE * ms // 1000)).tobytes()


class Call(Wire):
    """A client of the duplex dialect. `heard` is every frame it was sent, in order."""

    session: str = ""

    def __init__(self, socket: Any) -> None:
        super().__init__(socket)
        self.heard: list[dict[str, Any]] = []

    async def next(self, kind: str | None = None) -> dict[str, Any]:
        while True:
            frame = await super().next()
            self.heard.append(frame)
            if kind is None or frame["type"] == kind:
                return frame

    async def open(self, **session: Any) -> dict[str, Any]:
        await self.send({"type": "session.update", "session": {"sample_rate_hz": RATE, **session}})
        opened = dict((await self.next("session.updated"))["session"])
        self.session = opened["id"]
        return opened

    async def say(self, level: int, ms: int = UNIT_MS, **hints: Any) -> None:
        await self.append(sound(level, ms), **hints)

    async def commit(self, **how: Any) -> None:
        await self.send({"type": "input_audio_buffer.commit", **how})

    async def pause(self) -> list[dict[str, Any]]:
        """Everything that the server says to what was sent so far: it answers a heartbeat behind that."""
        await self.send({"type": "session.heartbeat"})
        return (await self.until("session.heartbeat_ack"))[:-1]

    async def close(self) -> None:
        """End the session, and see to the end that all that was sent obeys the laws of the dialect."""
        await self.send({"type": "session.close"})
        await self.next("session.closed")
        check([frame for frame in self.heard if "server_event_seq" in frame])

    # --- what was heard -----------------------------------------------------------------------------------

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        return [frame for frame in self.heard if frame["type"] in kinds]

    @property
    def responses(self) -> list[str]:
        return [frame["response_id"] for frame in self.of("response.created")]

    @property
    def transcripts(self) -> list[str]:
        return [frame["transcript"] for frame in self.of("response.output_audio_transcript.done")]

    @property
    def statuses(self) -> list[str]:
        return [frame["response"]["status"] for frame in self.of("response.done")]

    def audio_ms(self, response: str) -> float:
        deltas = [f for f in self.of("response.output_audio.delta") if f["response_id"] == response]
        samples = sum(len(base64.b64decode(frame["delta"])) // 2 for frame in deltas)
        return samples * 1000 / RATE


@contextlib.asynccontextmanager
async def call(server: RunningServer, query: str = "?duplex=1") -> AsyncIterator[Call]:
    url = f"ws://127.0.0.1:{server.port}/v1/realtime{query}"
    async with connect(url, proxy=None, compression=None, max_size=None) as socket:
        yield Call(socket)


def log_of(server: RunningServer) -> SegmentLog:
    return SegmentLog(server.data, deliver=lambda answer: answer())


def measures_of(server: RunningServer, session: str) -> Measures:
    """What the log of a session says of how long its answers took."""
    log = log_of(server)
    measures = Measures()
    for stored in log.read(SessionId(session)):
        measures = step(measures, stored)
    log.close()
    return measures


def verified(server: RunningServer, sessions: Sequence[str]) -> None:
    """The logs, projected again, say what was sent, byte for byte."""
    log = log_of(server)
    for session in sessions:
        verdict = verify(log, SessionId(session))
        assert verdict.same, verdict.difference
        assert verdict.frames + verdict.unreported > 0
    log.close()
