"""Connections that open no session: what they may send, and what they cost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.frames import Frame, Opcode

from antiphon.web.lobby import FREE_BYTES, Lobby
from tests.serving import RunningServer, running

from .wire import wire

UPGRADE = (
    b"GET /v1/realtime?duplex=1&autostart=0 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
LARGE = {"type": "session.update", "session": {"instructions": "x" * 400_000}}
LARGEST = Frame(Opcode.TEXT, b"x" * (15 << 20)).serialize(mask=True)[:-1]
"""All of the largest frame but its last byte."""
STRANGERS = 60
MOST_EACH = 400 * 1024
"""Bytes that one of them may add to the server, with its objects."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running(tmp_path_factory.mktemp("strangers") / "data") as started:
        yield started


def resident_bytes(pid: int) -> int:
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * 4096


async def stranger(port: int) -> asyncio.StreamWriter:
    """Opens a connection and sends of the largest frame there is as much as is taken."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(UPGRADE)
    await reader.readuntil(b"\r\n\r\n")
    writer.write(LARGEST)
    return writer


async def test_a_large_first_message_opens_a_session(server: RunningServer) -> None:
    async with wire(server, "?duplex=1&autostart=0") as client:
        await client.send(LARGE)
        created = await client.next("session.created")
        assert len(created["session"]["instructions"]) == 400_000


async def test_strangers_are_read_only_so_far_and_others_talk(server: RunningServer) -> None:
    async with wire(server) as client:
        await client.next("session.created")
        before = resident_bytes(server.serving_pid)
        strangers = await asyncio.gather(*(stranger(server.port) for _ in range(STRANGERS)))
        await client.manual()
        await client.append(b"\1\0" * 9_600)
        await client.next("response.output_audio.delta")
        added = resident_bytes(server.serving_pid) - before
        assert added < 2 * 4 * (15 << 20) + STRANGERS * MOST_EACH
        for writer in strangers:
            writer.transport.abort()


def test_a_place_is_given_in_turn_and_taken_back() -> None:
    given: list[str] = []
    lobby = Lobby(places=1)
    first = lobby.ask(lambda: given.append("first"))
    second = lobby.ask(lambda: given.append("second"))
    third = lobby.ask(lambda: given.append("third"))
    assert given == ["first"]
    second.leave()
    first.leave()
    first.leave()
    assert given == ["first", "third"]
    assert third.held
    third.leave()
    lobby.ask(lambda: given.append("fourth"))
    assert given[-1] == "fourth"


def test_most_first_messages_need_no_place() -> None:
    usual = {"type": "session.update", "session": {"instructions": "Be brief. " * 1_000}}
    assert len(json.dumps(usual)) < FREE_BYTES
