"""The door behind which clients speak HTTP and WebSocket over TLS.

What a transport of TLS holds back lies in two places: its own buffer, which the protocol above bounds, and
that of the TCP transport below it, which nobody above can reach. So the handshake is our own step, on a TCP
transport whose buffer is bounded first (direct.py says why little may wait there).
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import Any, cast

from .patience import REQUEST_S, PatientHttp

RECORD_BYTES = 16 * 1024
"""A TLS record: what the TCP transport may hold that the kernel did not take."""
FAREWELL_S = 5.0
"""How long a client may take to end TLS when its connection is closed."""


def behind(made: ssl.SSLContext) -> Callable[..., asyncio.Protocol]:
    """uvicorn's HTTP protocol behind TLS, made as uvicorn makes it."""
    return lambda **options: Door(made, PatientHttp(**options))


class Door(asyncio.Protocol):
    """Shakes hands, and then is out of the way.

    Two things may come too early, and are kept here: the client's hello, before TLS has the connection (a
    transport of uvloop is not to be paused before it has begun to read), and the client's request, which may
    come together with the end of the handshake, before `inner` has the connection.
    """

    def __init__(self, made: ssl.SSLContext, inner: asyncio.Protocol) -> None:
        self._context, self._inner = made, inner
        self._early = bytearray()
        self._gone = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        below = cast(asyncio.Transport, transport)
        below.pause_reading()
        below.set_write_buffer_limits(high=RECORD_BYTES)
        self._greeting = asyncio.get_running_loop().create_task(self._greet(below))

    async def _greet(self, below: asyncio.Transport) -> None:
        """Whoever does not shake hands in time, or not with us, is gone: there is nobody to tell."""
        loop = asyncio.get_running_loop()
        options: dict[str, Any] = {"ssl_handshake_timeout": REQUEST_S, "ssl_shutdown_timeout": FAREWELL_S}
        if self._gone:
            return
        with contextlib.suppress(OSError):
            starting = loop.create_task(
                loop.start_tls(below, self, self._context, server_side=True, **options)
            )
            await asyncio.sleep(0)  # TLS has the connection, and has not begun
            self._pass_on(cast(asyncio.BufferedProtocol, below.get_protocol()))
            above = await starting
            if above is not None and not self._gone:
                self._let_in(above)

    def _pass_on(self, secured: asyncio.BufferedProtocol) -> None:
        while self._early:
            room = memoryview(secured.get_buffer(len(self._early)))
            taken = min(len(self._early), len(room))
            room[:taken] = self._early[:taken]
            del self._early[:taken]
            secured.buffer_updated(taken)

    def _let_in(self, above: asyncio.Transport) -> None:
        self._inner.connection_made(above)
        above.set_protocol(self._inner)
        if self._early:
            self._inner.data_received(bytes(self._early))

    def data_received(self, data: bytes) -> None:
        self._early += data

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone = True
