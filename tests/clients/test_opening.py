"""A connection that ends before it has begun."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection

from antiphon.clients import call
from antiphon.clients.duplex.errors import DuplexConnectionError
from antiphon.clients.duplex.opening import opener

RESET = struct.pack("ii", 1, 0)


@asynccontextmanager
async def resetting(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """The URL of a server that resets each connection once it is made, and before the client says anything.

    Where a process dies with connections that it has not yet accepted, that is what comes of them.
    """
    handshake = ClientConnection.handshake

    async def late(self: ClientConnection, *args: Any, **options: Any) -> None:
        made.set()
        await asyncio.shield(self.connection_lost_waiter)
        await handshake(self, *args, **options)

    async def reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await made.wait()
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        writer.transport.abort()

    made = asyncio.Event()
    monkeypatch.setattr(ClientConnection, "handshake", late)
    async with await asyncio.start_server(reset, "127.0.0.1", 0) as server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/realtime"


async def test_a_connection_that_is_reset_before_its_handshake_is_one_to_try_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with resetting(monkeypatch) as url:
        with pytest.raises(DuplexConnectionError, match="no connection to"):
            await opener(api_key=None, tls=None, timeout_s=5)(url)


async def test_a_call_that_is_reset_before_its_handshake_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async with resetting(monkeypatch) as url:
        with pytest.raises(call.CallRefused, match="cannot connect to"):
            async with call.connect(url):
                pass
