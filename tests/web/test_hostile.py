"""Clients that mean harm or are broken below the frames: nobody else notices, and nothing of them is left."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

from antiphon.web import patience
from antiphon.web.direct import EXTENSION, DirectWebSocket
from antiphon.web.reader import MOST_UNREADABLE
from tests.serving import RunningServer

from .wire import wire

UPGRADE = (
    "GET /v1/realtime HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


def text(frame: dict[str, Any]) -> bytes:
    return Frame(Opcode.TEXT, json.dumps(frame).encode()).serialize(mask=True)


CLEAR = text({"type": "input_audio_buffer.clear"})
MANUAL = text({"type": "session.update", "session": {"audio": {"input": {"turn_detection": None}}}})


@asynccontextmanager
async def raw(
    port: int, *, limit: int = 65536
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=limit)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def test_a_burst_of_small_frames_keeps_nobody_else_waiting(echo_server: RunningServer) -> None:
    burst = 3_000
    async with raw(echo_server.port) as (reader, writer), wire(echo_server) as other:
        await other.next("session.created")
        writer.write(UPGRADE.encode() + b"\r\n")
        await reader.readuntil(b"session.created")
        writer.write(CLEAR * burst)
        await other.send({"type": "input_audio_buffer.clear"})
        await other.next("input_audio_buffer.cleared")
        answered = 0
        async with asyncio.timeout(10):
            while answered < burst:
                await reader.readuntil(b"input_audio_buffer.cleared")
                answered += 1


async def test_a_client_that_does_not_read_is_let_go_and_its_session_ends(echo_server: RunningServer) -> None:
    audio = text({"type": "input_audio_buffer.append", "audio": "A" * 640_000})

    async def send_and_never_read(writer: asyncio.StreamWriter) -> None:
        writer.write(MANUAL)
        async with asyncio.timeout(20):
            while True:
                writer.write(audio)
                await writer.drain()
                await asyncio.sleep(0.01)

    async with raw(echo_server.port, limit=1024) as (reader, writer):
        writer.write(UPGRADE.encode() + b"\r\n")
        await reader.readuntil(b"\r\n\r\n")  # a frame before the answer would be a protocol error
        with pytest.raises((ConnectionError, TimeoutError)):
            await send_and_never_read(writer)
        await asyncio.to_thread(
            echo_server.wait_until, lambda: not echo_server.get("/health").json()["sessions"], 15
        )
    assert re.search(r"^antiphon_slow_clients_total [1-9]", echo_server.get("/metrics").text, re.MULTILINE)


async def test_a_client_that_sends_rubbish_again_and_again_is_let_go(echo_server: RunningServer) -> None:
    async with wire(echo_server) as client:
        await client.next("session.created")
        for _ in range(MOST_UNREADABLE + 1):
            await client.socket.send("{")
        frames = []
        with contextlib.suppress(ConnectionClosed):
            while True:
                frames.append(await client.next())
        assert client.socket.close_code == 1008
        assert [frame["type"] for frame in frames] == ["error"] * len(frames)
        assert frames[-1]["error"]["code"] == "too_many_errors"


@pytest.mark.parametrize(
    ("header", "status"),
    [("X: " + "a" * 9_000, b"431"), ("\r\n".join(["X: a"] * 200), b"431"), ("Sec-WebSocket-Key: x", b"400")],
)
async def test_an_upgrade_that_cannot_be_read_is_answered(
    echo_server: RunningServer, header: str, status: bytes
) -> None:
    async with raw(echo_server.port) as (reader, writer):
        writer.write(f"{UPGRADE}{header}\r\n\r\n".encode())
        async with asyncio.timeout(5):
            answer = await reader.read()  # to the end: the connection is closed, too
    assert answer.split()[1] == status


@pytest.mark.parametrize(
    "path", ["/%00", "/a%00.js", "/" + "a" * 5_000, "/" + "a/" * 3_000, "/%2e%2e/app.py"]
)
async def test_a_path_that_is_no_file_is_not_found(echo_server: RunningServer, path: str) -> None:
    async with raw(echo_server.port) as (reader, writer):
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        assert (await reader.read()).split()[1] == b"404"


@pytest.mark.parametrize("origin", ["http://[", "http://a]", "null", "//", "http://127.0.0.1:1@evil.example"])
async def test_an_origin_that_is_none_is_refused(echo_server: RunningServer, origin: str) -> None:
    for request in (f"GET /live HTTP/1.1\r\nHost: 127.0.0.1:{echo_server.port}\r\n", UPGRADE):
        async with raw(echo_server.port) as (reader, writer):
            writer.write(f"{request}Origin: {origin}\r\n\r\n".encode())
            assert (await reader.readuntil(b"\r\n")).split()[1] == b"403"


@asynccontextmanager
async def serving(app: Any, **options: Any) -> AsyncIterator[int]:
    """uvicorn with an application of the test's own: its port."""
    config = uvicorn.Config(app, lifespan="off", log_config=None, **options)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        server = uvicorn.Server(config)
        running = asyncio.create_task(server.serve(sockets=[listening]))
        yield listening.getsockname()[1]
        server.should_exit = server.force_exit = True
        await running


async def test_a_client_whose_answers_to_pings_we_do_not_read_is_not_taken_for_dead() -> None:
    async def hold_for_a_while(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": "go"})
        direct = scope["extensions"][EXTENSION]
        direct.listen(lambda text: None)
        direct.hold()
        await asyncio.sleep(0.3)
        direct.go_on()
        await send({"type": "websocket.send", "text": "read on"})
        await receive()

    often = {"ws_ping_interval": 0.02, "ws_ping_timeout": 0.02}
    async with (
        serving(hold_for_a_while, ws=DirectWebSocket, **often) as port,
        connect(f"ws://127.0.0.1:{port}/", proxy=None, ping_interval=None) as client,
        asyncio.timeout(5),
    ):
        assert await client.recv() == "go"
        assert await client.recv() == "read on"


@pytest.mark.parametrize(
    "begun", [b"", b"GET /v1/realt", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"]
)
async def test_who_does_not_ask_in_time_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr(patience, "REQUEST_S", 0.05)

    async def never(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.Event().wait()

    async with serving(never, http=patience.PatientHttp) as port, raw(port) as (reader, writer):
        writer.write(begun)
        async with asyncio.timeout(5):
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await reader.readexactly(1)
