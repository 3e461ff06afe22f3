"""A client of the Moshi wire under test, bare: it sends what a test has it send, and when."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from msgspec import Struct
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from antiphon.media.opus import OpusReader, OpusWriter
from tests.serving import RunningServer

SCRIPT = Path(__file__).parent / "moshi_script.toml"
READY, AUDIO, TEXT, METADATA, ERROR, PING = 0, 1, 2, 4, 5, 6
FRAME_S = 0.08
FRAME = bytes(2 * 1920)
WAIT_S = 10.0


class Message(Struct):
    """What came: its tag, what is behind that, and when (monotonic seconds)."""

    tag: int
    payload: bytes
    at: float


class Moshi:
    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.writer, self.reader = OpusWriter(), OpusReader()
        self.got: list[Message] = []

    async def next(self) -> Message:
        async with asyncio.timeout(WAIT_S):
            came = await self.socket.recv()
        assert isinstance(came, bytes), "every message is binary"
        self.got.append(Message(came[0], came[1:], time.monotonic()))
        return self.got[-1]

    async def until(self, tag: int, times: int = 1) -> list[Message]:
        """Everything up to the next message of that tag, or that many of them."""
        came: list[Message] = []
        while times:
            came.append(await self.next())
            times -= came[-1].tag == tag
        return came

    async def send(self, tag: int, payload: bytes = b"") -> None:
        await self.socket.send(bytes((tag,)) + payload)

    async def say(self, frames: int = 1, *, every_s: float = 0.0) -> None:
        """Frames of silence, as sphn writes them: two pages of 40 ms in each message."""
        for _ in range(frames):
            await self.send(AUDIO, self.writer.append(FRAME))
            if every_s:
                await asyncio.sleep(every_s)

    async def closed(self) -> tuple[int, str]:
        """The server's farewell; what came before it is in `got`."""
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self.next()
        return self.socket.close_code or 0, self.socket.close_reason or ""

    def heard(self) -> bytes:
        """The sound of all that came."""
        return b"".join(self.reader.feed(one.payload) for one in self.got if one.tag == AUDIO)

    @property
    def metadata(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(next(one.payload for one in self.got if one.tag == METADATA))
        return said


@contextlib.asynccontextmanager
async def moshi(server: RunningServer, query: str = "", **options: Any) -> AsyncIterator[Moshi]:
    url = f"ws://127.0.0.1:{server.port}/api/chat{query}"
    async with connect(url, proxy=None, compression=None, max_size=None, **options) as socket:
        yield Moshi(socket)


def tags(messages: list[Message]) -> list[int]:
    return [one.tag for one in messages]
