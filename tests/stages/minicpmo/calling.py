"""A client of a served MiniCPM-o, and what is in the log of its session."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

import numpy as np

from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.vocabulary import UnitCompleted
from antiphon.media.pcm import to_pcm
from tests.serving import RunningServer
from tests.web.wire import Wire

WAIT_S = 30.0
SECOND = to_pcm(np.random.default_rng(2).normal(0, 0.1, 24_000).astype(np.float32))


async def talking(client: Wire) -> str:
    """A session whose model decides by itself with every unit. Returns its id."""
    session: dict[str, Any] = {
        "audio": {"input": {"format": {"type": "audio/pcm", "rate": 24_000}}},
        "extra_body": {"auto_response": True, "seed": 5},
    }
    await client.send({"type": "session.update", "session": session})
    created = await client.next("session.created")
    return str(created["session"]["id"])


async def heard(server: RunningServer, client: Wire, session: str, seconds: int) -> None:
    """Give the model so many seconds, each when one more was answered."""
    for _ in range(seconds):
        units = len(of(server, session, UnitCompleted))
        await client.append(SECOND)
        more = partial(answered_more, server, session, units)
        await asyncio.to_thread(server.wait_until, more, WAIT_S)


def answered_more(server: RunningServer, session: str, units: int) -> bool:
    return len(of(server, session, UnitCompleted)) > units


async def closed(client: Wire) -> None:
    """Reads to the end, so that nobody waits for this client."""
    async for text in client.socket:
        if json.loads(text)["type"] == "session.closed":
            return


def log_of(server: RunningServer) -> SegmentLog:
    return SegmentLog(server.data, deliver=lambda answer: answer())


def of(server: RunningServer, session: str, kind: type[Any]) -> list[Any]:
    return [one.event for one in log_of(server).read(SessionId(session)) if isinstance(one.event, kind)]
