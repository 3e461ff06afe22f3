"""The WebSocket routes: let in, open, then read and write until either side is done."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import structlog
from litestar import WebSocket
from litestar.exceptions import WebSocketDisconnect

from antiphon.actors.host import CannotOpen, SessionHost
from antiphon.actors.session.commands import Attach
from antiphon.actors.session.refusals import Refused

from .attach import Attachment
from .auth import SUBPROTOCOL_KEY, Denied, Doorkeeper
from .dialect import Left
from .dialects import chosen
from .direct import EXTENSION, DirectWebSocket
from .disk import Disk
from .metrics import Metrics
from .reader import Reader
from .realtime.undecodable import Undecodable
from .settings import Settings

log = structlog.get_logger(__name__)

CLOSINGS = {1000: "closed", 1001: "closed", 1012: "server"}
"""Close code -> why the connection ended; 1012 is ours, when the process is told to stop."""

QUARTERS = 4
FAREWELL_S = 2.0
"""How long a client that has not read has to read why it is let go."""


class RealtimeRoute:
    """Where sessions are held, in whichever dialect the client's URL asks for."""

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
        picked = "realtime" if "realtime" in offered else _first_public(offered)
        await socket.accept(subprotocols=picked)
        dialect = chosen(socket.scope["path"], socket.query_params, socket.headers, offered)
        attachment = Attachment(dialect, lambda code: self._metrics.refused.labels(code).inc())
        try:
            first = await self._open(attachment, socket, principal)
        except (CannotOpen, Refused, Undecodable) as refusal:
            self._metrics.refused.labels(refusal.code).inc()
            client_event, parameter = _named_in(refusal)
            attachment.turn_away(refusal.code, str(refusal), client_event, parameter)
            await _write(socket, attachment)
        except Left:
            return
        else:
            self._metrics.opened.inc()
            await self._converse(socket, attachment, first)

    async def _open(
        self, attachment: Attachment, socket: WebSocket[Any, Any, Any], principal: str | None
    ) -> str | None:
        """Open a session for the attachment; the frame that is to be asked first, if one came already."""
        if self._disk.is_low:
            self._make_room()
            raise CannotOpen("resource_exhausted", "the disk of the server is nearly full; try again later")
        dialect = attachment.dialect
        began = await dialect.begin(
            socket.query_params, socket.receive, self._host.abilities, self._settings.model
        )
        attach = Attach(dialect=dialect.name, client=socket.headers.get("user-agent", "")[:200])
        attachment.hosted = self._host.open(
            attachment, began.config, attach, mode=dialect.mode, principal=principal
        )
        return began.first

    async def _converse(
        self, socket: WebSocket[Any, Any, Any], attachment: Attachment, first: str | None
    ) -> None:
        """Read and write until one of the two ends; then the other is ended, and the session told why."""
        hosted = attachment.hosted
        if hosted is None:
            return
        direct: object = (socket.scope.get("extensions") or {}).get(EXTENSION)
        reader = Reader(attachment, hosted, attachment.dialect.decoder(attachment.config), self._metrics)
        if first is not None:
            reader.take(first)
        if isinstance(direct, DirectWebSocket):
            attachment.outbox.use(direct.send_now, direct.writable.wait)
            reader.listen(direct)
        reading = asyncio.create_task(_read(socket, reader))
        tasks = {reading, *map(asyncio.create_task, _watches(socket, attachment, reader))}
        reason, code = "server", None
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
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
            reader.abandon()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            attachment.gone(reason, code)


def _watches(
    socket: WebSocket[Any, Any, Any], attachment: Attachment, reader: Reader
) -> Iterator[Coroutine[Any, Any, None]]:
    """What runs beside the reading, and ends the conversation when it ends."""
    yield _write(socket, attachment)
    yield _too_slow(attachment)
    patience = attachment.dialect.patience
    if patience is not None:
        yield _silent(lambda: patience(attachment.config()), reader)


def _named_in(refusal: Exception) -> tuple[str | None, str | None]:
    """The client's event and the parameter that a refusal names, if it does."""
    match refusal:
        case Undecodable(client_event=client_event, param=parameter):
            return client_event, parameter
        case Refused(parameter=parameter):
            return None, parameter
        case _:
            return None, None


async def _read(socket: WebSocket[Any, Any, Any], reader: Reader) -> tuple[str, int | None]:
    """Until the client goes: why, and its close code."""
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            await reader.end()
            code = message.get("code")
            return CLOSINGS.get(code, "lost"), code
        text = message.get("text")
        reader.take(text if isinstance(text, str) else None)
        await reader.caught_up()


async def _write(socket: WebSocket[Any, Any, Any], attachment: Attachment) -> None:
    async def send(text: bytes) -> None:
        await socket.send({"type": "websocket.send", "text": text.decode(), "bytes": None})

    async def close(code: int, reason: str) -> None:
        await socket.send({"type": "websocket.close", "code": code, "reason": reason})

    with contextlib.suppress(WebSocketDisconnect, OSError):
        await attachment.outbox.run(send, close)


async def _too_slow(attachment: Attachment) -> None:
    """Until a client that reads too slowly has had its time to read the farewell."""
    await attachment.outbox.overflowed.wait()
    await asyncio.sleep(FAREWELL_S)


async def _silent(patience_s: Callable[[], float], reader: Reader) -> None:
    """Until a client has sent nothing for as long as it may, or up to a quarter longer."""
    quiet = 0
    while quiet < QUARTERS:
        reader.heard = False
        await asyncio.sleep(patience_s() / QUARTERS)
        quiet = 0 if reader.heard else quiet + 1


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
