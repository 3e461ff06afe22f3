"""One connection to its end: read and write until either side is done, then tell the session.

A client that comes back is first told what it has missed; what it sends meanwhile waits in its socket.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator
from typing import Any

import structlog
from litestar import WebSocket
from litestar.exceptions import WebSocketDisconnect

from antiphon.actors.hosted import Hosted
from antiphon.actors.session.commands import Command
from antiphon.events.store import Log

from . import direct
from .attach import Attachment
from .metrics import Metrics
from .outbox import Outbox
from .reader import Reader
from .trails import Trails

log = structlog.get_logger(__name__)

CLOSINGS = {1000: "closed", 1005: "closed", 1012: "server"}
"""Close code -> why the connection ended; 1005 is a close without a code, 1012 is ours, when the process is
told to stop. Whatever else ends a connection may be an accident, and the client may come back."""

QUARTERS = 4
REPEATED = 1024
"""Frames of audio that a client which came back may be sending again."""
FAREWELL_S = 2.0
"""How long a client that has not read has to read why it is let go."""

Socket = WebSocket[Any, Any, Any]


class Conversation:
    """Of one attachment that has its session."""

    def __init__(
        self,
        socket: Socket,
        attachment: Attachment,
        hosted: Hosted,
        metrics: Metrics,
        keep_alive_s: float | None,
    ) -> None:
        """`keep_alive_s`: how often to say that a client is there of which only its socket does."""
        self._socket, self._attachment, self._hosted, self._metrics = socket, attachment, hosted, metrics
        self._keep_alive_s = keep_alive_s
        self._direct = direct.under(socket.scope)
        self._reader: Reader | None = None

    async def hold(self, first: Command | str | None, store: Log, trails: Trails) -> None:
        """Until one of the two ends; then the other is ended, and the session told why."""
        attachment = self._attachment
        dialect = attachment.dialect
        attachment.leave_views(trails.walk(self._hosted, dialect.name, dialect.projection))
        if self._direct is not None:
            self._direct.admit()
            attachment.outbox.use(self._direct.send_now, self._direct.writable.wait)
        reading = asyncio.create_task(self._read(first, store))
        tasks: set[asyncio.Task[Any]] = {reading, *map(asyncio.create_task, self._watches())}
        reason, code = "lost", None
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if attachment.outbox.overflowed.is_set():
                reason = "slow"
                self._metrics.outbox_dropped.inc()
                if self._direct is not None:
                    self._direct.transport.abort()  # it would wait until everything is read
            elif reading in done:
                reason, code = reading.result()
            elif attachment.expelled:
                reason = "expelled"
            elif self._direct is not None and self._direct.stopping.is_set():
                reason, code = "server", 1012
            for task in done - {reading}:
                if (error := task.exception()) is not None:
                    log.error("conversation.failed", exc_info=error)
        finally:
            if self._reader is not None:
                self._reader.abandon()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            attachment.gone(reason, code)

    def _watches(self) -> Iterator[Coroutine[Any, Any, None]]:
        """What runs beside the reading, and ends the conversation when it ends."""
        yield write(self._socket, self._attachment.outbox)
        yield self._too_slow()
        if self._direct is not None:
            yield self._stopped(self._direct)
        if self._attachment.dialect.patience is not None:
            yield self._silent()
        elif self._keep_alive_s is not None:
            yield self._alive(self._keep_alive_s)

    async def _stopped(self, beneath: direct.DirectWebSocket) -> None:
        """Until the server stops, also while the client is told what it has missed and not listened to."""
        await beneath.stopping.wait()
        if self._reader is not None:
            await asyncio.Event().wait()  # it hears of it, after whatever the client had sent before

    async def _read(self, first: Command | str | None, store: Log) -> tuple[str, int | None]:
        """Until the client goes: why, and its close code."""
        if not await self._attachment.catch_up(store):
            await asyncio.Event().wait()  # its farewell ends the conversation
        attachment = self._attachment
        decoder = attachment.dialect.decoder(attachment.config)
        if attachment.came_back:
            decoder.keep_apart(REPEATED)
        reader = self._reader = Reader(attachment, self._hosted, decoder, self._metrics)
        if isinstance(first, str):
            reader.take(first)
        elif first is not None:
            self._hosted.ask(attachment, first)
        if self._direct is not None:
            reader.listen(self._direct)
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                await reader.end()
                code = message.get("code")
                if code == 1005 and "reason" not in message:  # there was no close frame at all
                    code = 1006
                return CLOSINGS.get(code, "lost"), code
            for frame in (message.get("text"), message.get("bytes")):
                if isinstance(frame, str | bytes):
                    reader.take(frame)
            await reader.caught_up()

    async def _too_slow(self) -> None:
        """Until a client that reads too slowly has had its time to read the farewell."""
        await self._attachment.outbox.overflowed.wait()
        await asyncio.sleep(FAREWELL_S)

    async def _silent(self) -> None:
        """Until a client has sent nothing for as long as it may, or up to a quarter longer."""
        attachment, quiet = self._attachment, 0
        patience = attachment.dialect.patience
        while quiet < QUARTERS and patience is not None:
            reader = self._reader
            if reader is not None:
                reader.heard = False
            await asyncio.sleep(patience(attachment.config()) / QUARTERS)
            quiet = 0 if reader is None or reader.heard else quiet + 1

    async def _alive(self, every_s: float) -> None:
        """While the socket is open its client is there; it has no other way to say so."""
        while True:
            await asyncio.sleep(every_s)
            self._attachment.keep_alive()


async def write(socket: Socket, outbox: Outbox) -> None:
    """Send what there is to say, until its farewell or until the socket is gone."""

    async def send(payload: bytes, binary: bool) -> None:
        if binary:
            await socket.send({"type": "websocket.send", "text": None, "bytes": payload})
        else:
            await socket.send({"type": "websocket.send", "text": payload.decode(), "bytes": None})

    async def close(code: int, reason: str) -> None:
        await socket.send({"type": "websocket.close", "code": code, "reason": reason})

    with contextlib.suppress(WebSocketDisconnect, OSError):
        await outbox.run(send, close)
