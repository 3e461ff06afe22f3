"""Clients that write `?model=M` behind the URL that they are given, whatever that is (pipecat, the beta's)."""

from __future__ import annotations

import pytest

from antiphon.web.dialects import members
from tests.serving import RunningServer

from .wire import wire


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"duplex": "1?model=M"}, {"duplex": "1", "model": "M"}),
        ({"session_id": "S", "after": "7?model=M"}, {"session_id": "S", "after": "7", "model": "M"}),
        ({"model": "mine?model=M"}, {"model": "mine"}),
        ({"model": "M", "api_key": "what?"}, {"model": "M", "api_key": "what?"}),
        ({}, {}),
    ],
)
def test_what_the_url_says(query: dict[str, str], said: dict[str, str]) -> None:
    assert members(query) == said


async def test_the_dialect_that_was_asked_for_is_spoken(echo_server: RunningServer) -> None:
    async with wire(echo_server, "?duplex=1?model=m") as client:
        assert (await client.next("session.updated"))["server_event_seq"] > 0


async def test_the_session_that_was_named_is_resumed(echo_server: RunningServer) -> None:
    async with wire(echo_server) as client:
        session = (await client.next("session.created"))["session"]
        client.socket.transport.abort()
    query = f"?session_id={session['id']}&resume_token={session['resume_token']}?model=m"
    async with wire(echo_server, query) as client:
        assert (await client.next("session.created"))["session"]["id"] == session["id"]
