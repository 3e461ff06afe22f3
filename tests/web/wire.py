"""A bare WebSocket client: what it sends is exactly what the test says, broken or not."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.serving import RunningServer

WAIT_S = 10.0


class Wire:
    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def send(self, frame: dict[str, Any] | str | bytes) -> None:
        await self.socket.send(json.dumps(frame) if isinstance(frame, dict) else frame)

    async def append(self, pcm: bytes, **members: Any) -> None:
        audio = base64.b64encode(pcm).decode()
        await self.send({"type": "input_audio_buffer.append", "audio": audio, **members})

    async def next(self, kind: str | None = None) -> dict[str, Any]:
        """The next frame, or the next of a kind (others are passed over)."""
        async with asyncio.timeout(WAIT_S):
            while True:
                frame: dict[str, Any] = json.loads(await self.socket.recv())
                if kind is None or frame["type"] == kind:
                    return frame

    async def until(self, kind: str) -> list[dict[str, Any]]:
        """Every frame up to and including the next of a kind."""
        frames = [await self.next()]
        while frames[-1]["type"] != kind:
            frames.append(await self.next())
        return frames

    async def within(self, seconds: float) -> list[dict[str, Any]]:
        """Every frame that arrives within `seconds`."""
        frames: list[dict[str, Any]] = []
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    frames.append(json.loads(await self.socket.recv()))
        return frames

    async def manual(self) -> None:
        """Turn server VAD off, as a client that commits by itself does."""
        await self.send({"type": "session.update", "session": {"audio": {"input": {"turn_detection": None}}}})
        await self.next("session.updated")


@contextlib.asynccontextmanager
async def wire(
    server: RunningServer, query: str = "", *, path: str = "/v1/realtime", **options: Any
) -> AsyncIterator[Wire]:
    url = f"ws://127.0.0.1:{server.port}{path}{query}"
    async with connect(url, proxy=None, compression=None, max_size=None, **options) as socket:
        yield Wire(socket)
