"""How long a connection may take to ask for something, and to take the answer.

uvicorn waits for ever for a request that never begins or is never finished, and for a client that does not
read. Whoever opens such connections holds a descriptor with each, and conversations need descriptors.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 10.0


class PatientHttp(H11Protocol):
    """uvicorn's HTTP protocol, which ends a connection that does not get a request done in time."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self._wait_for_request()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._deadline is not None:
            self._deadline.cancel()

    def _wait_for_request(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(REQUEST_S, self._lose_patience)

    def _lose_patience(self) -> None:
        if self in self.connections:  # otherwise it has become a WebSocket
            self.transport.abort()
