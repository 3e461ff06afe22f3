"""The WebSocket routes: let in, open, then read and write until either side is done."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import structlog
from litestar import WebSocket
from litestar.exceptions import WebSocketDisconnect

from antiphon.actors.host import CannotOpen, Hosted, SessionHost
from antiphon.actors.session.commands import Attach
from antiphon.events.vocabulary import Config, TurnDetection

from .attach import RealtimeAttachment
from .auth import SUBPROTOCOL_KEY, Denied, Doorkeeper
from .direct import EXTENSION, DirectWebSocket
from .disk import Disk
from .metrics import Metrics
from .reader import Reader
from .settings import Settings

log = structlog.get_logger(__name__)

CLOSINGS = {1000: "closed", 1001: "closed", 1012: "server"}
"""Close code -> why the connection ended; 1012 is ours, when the process is told to stop."""

FAREWELL_S = 2.0
"""How long a client that has not read has to read why it is let go."""


class RealtimeRoute:
    """`/v1/realtime` for plain clients."""

    def __init__(
        self,
        host: SessionHost,
        doors: Doorkeeper,
        settings: Settings,
        metrics: Metrics,
        disk: Disk,
        make_room: Callable[[], object],
    ) -> None:
        """`make_room` is called when a client is refused for lack of room on the disk."""
        self._host, self._doors, self._settings, self._metrics = host, doors, settings, metrics
        self._disk, self._make_room = disk, make_room

    async def serve(self, socket: WebSocket[Any, Any, Any]) -> None:
        try:
            principal = self._doors.admit(
                socket.headers, socket.scope["subprotocols"], socket.query_params.get("api_key")
            )
        except Denied as denied:
            self._metrics.refused.labels(denied.code).inc()
            await _deny(socket, denied)
            return
        offered = socket.scope["subprotocols"]
        chosen = "realtime" if "realtime" in offered else _first_public(offered)
        await socket.accept(subprotocols=chosen)
        attachment = RealtimeAttachment(lambda code: self._metrics.refused.labels(code).inc())
        try:
            attachment.hosted = self._open(attachment, socket, principal)
        except CannotOpen as refusal:
            self._metrics.refused.labels(refusal.code).inc()
            attachment.abort(refusal.code, refusal.message)
            await _write(socket, attachment)
            return
        self._metrics.opened.inc()
        await self._converse(socket, attachment, attachment.hosted)

    def _open(
        self, attachment: RealtimeAttachment, socket: WebSocket[Any, Any, Any], principal: str | None
    ) -> Hosted:
        abilities = self._host.abilities()
        if self._disk.is_low:
            self._make_room()
            raise CannotOpen("resource_exhausted", "the disk of the server is nearly full; try again later")
        config = Config(
            model=self._settings.model or abilities.stage,
            output_modalities=("audio",) if abilities.speaks else ("text",),
            turn_detection=TurnDetection() if abilities.detects_voice else None,
        )
        attach = Attach(dialect="realtime", client=socket.headers.get("user-agent", "")[:200])
        return self._host.open(attachment, config, attach, mode="duplex", principal=principal)

    async def _converse(
        self, socket: WebSocket[Any, Any, Any], attachment: RealtimeAttachment, hosted: Hosted
    ) -> None:
        """Read and write until one of the two ends; then the other is ended, and the session told why."""
        direct: object = (socket.scope.get("extensions") or {}).get(EXTENSION)
        reader = Reader(attachment, hosted, self._metrics)
        if isinstance(direct, DirectWebSocket):
            attachment.outbox.send_now = direct.send_now
            reader.listen(direct)
        reading = asyncio.create_task(_read(socket, reader))
        writing = asyncio.create_task(_write(socket, attachment))
        slow = asyncio.create_task(_too_slow(attachment))
        reason, code = "server", None
        try:
            done, _ = await asyncio.wait({reading, writing, slow}, return_when=asyncio.FIRST_COMPLETED)
            if attachment.outbox.overflowed.is_set():
                reason = "slow"
                self._metrics.outbox_dropped.inc()
                if isinstance(direct, DirectWebSocket):
                    direct.transport.abort()  # it would wait until everything is read
            elif reading in done:
                reason, code = reading.result()
            elif attachment.expelled:
                reason = "expelled"
        finally:
            for task in (reading, writing, slow):
                task.cancel()
            await asyncio.gather(reading, writing, slow, return_exceptions=True)
            attachment.gone(reason, code)


async def _read(socket: WebSocket[Any, Any, Any], reader: Reader) -> tuple[str, int | None]:
    """Until the client goes: why, and its close code."""
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            reader.end()
            code = message.get("code")
            return CLOSINGS.get(code, "lost"), code
        text = message.get("text")
        reader.take(text if isinstance(text, str) else None)
        await reader.caught_up()


async def _write(socket: WebSocket[Any, Any, Any], attachment: RealtimeAttachment) -> None:
    async def send(text: bytes) -> None:
        await socket.send({"type": "websocket.send", "text": text.decode(), "bytes": None})

    async def close(code: int, reason: str) -> None:
        await socket.send({"type": "websocket.close", "code": code, "reason": reason})

    with contextlib.suppress(WebSocketDisconnect, OSError):
        await attachment.outbox.run(send, close)


async def _too_slow(attachment: RealtimeAttachment) -> None:
    """Until a client that reads too slowly has had its time to read the farewell."""
    await attachment.outbox.overflowed.wait()
    await asyncio.sleep(FAREWELL_S)


async def _deny(socket: WebSocket[Any, Any, Any], denied: Denied) -> None:
    """Refuse before the upgrade, with a status and a body where the server can."""
    body = b'{"error":{"type":"invalid_request_error","code":"%s","message":"%s"}}' % (
        denied.code.encode(),
        denied.message.encode(),
    )
    start = {
        "type": "websocket.http.response.start",
        "status": denied.status,
        "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))],
    }
    await socket.send(start)  # type: ignore[arg-type]  # the ASGI extension is not in litestar's types
    await socket.send({"type": "websocket.http.response.body", "body": body})  # type: ignore[arg-type]


def _first_public(offered: list[str]) -> str | None:
    """A subprotocol to answer with, never the one that carries the key."""
    return next((name for name in offered if not name.startswith(SUBPROTOCOL_KEY)), None)
