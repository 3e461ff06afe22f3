"""A TCP proxy that does to connections what networks do: cuts them at a byte, resets them, lets them hang."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator
from typing import Literal

Direction = Literal["up", "down"]
"""From the client to the server, and back."""


class FaultyProxy:
    """`cuts` are used up one by one: the next connection ends after so many bytes in that direction."""

    port: int

    def __init__(self, upstream: int) -> None:
        self.upstream = upstream
        self.cuts: list[tuple[Direction, int]] = []
        self.connections = 0
        self.refusing = False
        """Close new connections at once, as where nobody listens behind a balancer."""
        self._open: set[asyncio.StreamWriter] = set()
        self._flows = flowing()
        self._stalled: list[asyncio.Event] = []

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    def stall(self) -> None:
        """Nothing passes any more by the connections that there are, and nobody is told."""
        self._flows.clear()
        self._stalled.append(self._flows)
        self._flows = flowing()

    def reset(self) -> None:
        """Every connection ends with a RST, on both sides."""
        for writer in list(self._open):
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        for flows in self._stalled:
            flows.set()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self.refusing:
            writer.close()
            return
        cut = self.cuts.pop(0) if self.cuts else None
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.upstream)
        self._open |= {writer, up_writer}
        up, down = (reader, up_writer), (up_reader, writer)
        ways = [
            asyncio.create_task(_pass_on(*up, self._flows, _limit(cut, "up"))),
            asyncio.create_task(_pass_on(*down, self._flows, _limit(cut, "down"))),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            for side in (writer, up_writer):
                self._open.discard(side)
                side.transport.abort()


async def _pass_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, flows: asyncio.Event, left: int | None
) -> None:
    with contextlib.suppress(OSError):
        while left != 0 and (piece := await reader.read(65536 if left is None else min(left, 65536))):
            await flows.wait()
            writer.write(piece)
            await writer.drain()
            left = None if left is None else left - len(piece)


def flowing() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


def _limit(cut: tuple[Direction, int] | None, way: Direction) -> int | None:
    return cut[1] if cut is not None and cut[0] == way else None


@contextlib.asynccontextmanager
async def faulty_proxy(upstream: int) -> AsyncIterator[FaultyProxy]:
    """A proxy before the server on that port of this machine."""
    proxy = FaultyProxy(upstream)
    server = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        proxy.reset()
