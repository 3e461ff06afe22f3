"""A native client that loses its connection comes back by the URL, and what it missed follows."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from antiphon.events.ids import SessionId
from antiphon.replay.verify import verify
from tests.projections.native_laws import check
from tests.serving import RunningServer

from .test_duplex_wire import log_of, of
from .test_native_wire import DUPLEX, answer, native, opened
from .wire import wire

__all__ = ["native"]


def came_back(created: dict[str, Any], last: str, **other: str) -> str:
    known = {"session_id": created["session"]["id"], "resume_token": created["resume_token"], "after": last}
    return "?" + "&".join(f"{name}={value}" for name, value in {**known, **other}.items())


async def test_an_answer_goes_on_where_the_connection_broke(native: RunningServer) -> None:
    async with opened(native) as (client, created):
        frames = [created, *await answer(client, "response.output_audio.delta")]
        client.socket.transport.abort()
    async with wire(native, came_back(created, frames[-1]["event_id"]), path=DUPLEX) as client:
        resumed = await client.next()
        assert resumed["type"] == "session.resumed"
        assert (resumed["attachment_generation"], "server_event_seq" in resumed) == (2, False)
        frames += await client.until("response.done")
        await client.send({"type": "session.close"})
        frames += await client.until("session.closed")
    check(frames)
    audio = of("response.output_audio.delta", frames)
    assert sum(len(base64.b64decode(delta["audio"])) for delta in audio) == 57_600
    assert verify(log_of(native), SessionId(created["session"]["id"])).same


async def test_who_has_no_token_does_not_come_back(native: RunningServer) -> None:
    async with opened(native) as (_, created):
        query = came_back(created, created["event_id"], resume_token="guessed")
        async with wire(native, query, path=DUPLEX) as client:
            error = await client.next()
            assert (error["type"], error["code"]) == ("error", "invalid_resume_token")
            with pytest.raises(ConnectionClosed):
                await client.next()
