"""Who comes back to another process goes on from a place that was kept beside the log."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

from msgspec.structs import replace

from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.projections.duplex.view import View
from antiphon.replay.verify import verify
from antiphon.web.trails import STEP, Place, checkpoints
from tests.serving import RunningServer, running

from .test_resume import WAITS, Seat, answered, ask, back, drop, log_of, numbers, settings, take_seat
from .wire import wire

PLACES = "places-duplex"
AUDIO = {"type": "input_audio_buffer.append", "audio": base64.b64encode(bytes(3_840)).decode()}
"""80 ms: as much as one event holds at least."""


def test_who_comes_back_after_a_restart_goes_on_from_where_the_last_process_was(tmp_path: Path) -> None:
    config = str(settings(tmp_path))
    with running(tmp_path / "data", "--config", config, stage="scripted") as server:
        seat = asyncio.run(talk(server))
        session = SessionId(seat.session)
        server.wait_until(lambda: log_of(server).derived(session, 0, PLACES) is not None)
    tell_apart(log_of(server), session)
    with running(tmp_path / "data", "--config", config, stage="scripted") as server:
        instructions = asyncio.run(come_back(server, seat))
    assert instructions == "from a place"
    assert numbers(seat.frames) == sorted(set(numbers(seat.frames)))
    assert verify(log_of(server), session).same


async def talk(server: RunningServer) -> Seat:
    """For so long that places are left."""
    async with wire(server, WAITS) as client:
        seat = await take_seat(client, turn_detection=None)
        for n in range(2 * STEP):
            await client.send(AUDIO | {"event_id": f"evt_{n}"})
        await ask(client, "Count", "evt_count")
        seat.frames += await answered(client)
        drop(client)
    return seat


def tell_apart(log: SegmentLog, session: SessionId) -> None:
    """Have the views say what no log says, so that who begins with one shows it."""
    kept = checkpoints(log)
    places = kept.find(session, PLACES, tuple[Place[View], ...])
    assert places
    changed = [
        replace(one, view=replace(one.view, config=replace(one.view.config, instructions="from a place")))
        for one in places
    ]
    kept.keep(session, PLACES, places[-1].seq, places[-1].at, changed)


async def come_back(server: RunningServer, seat: Seat) -> str:
    async with back(server, seat) as (client, resumed):
        await ask(client, "Again", "evt_again")
        seat.frames += await answered(client)
    return str(resumed["session"]["instructions"])
