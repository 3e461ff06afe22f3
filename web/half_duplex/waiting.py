"""A caller in the line: told where it stands, and listened to as far as needs be.

It may prepare the call while it waits; that is kept, and asked as soon as there is a session. Sound is thrown
away: by then nobody wants to hear it. Of what it sends little is held at a time (web/lobby.py), and who
begins to send something large and does not go on loses its place in the line.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec
from litestar import WebSocket
from litestar.exceptions import WebSocketDisconnect

from antiphon.actors.admission import CannotOpen
from antiphon.actors.modes.half_duplex.commands import Prepare
from antiphon.actors.queueing.reception import Reception, Standing, Ticket
from antiphon.actors.session.commands import CloseSession
from antiphon.events.ids import SessionId
from antiphon.projections.half_duplex import frames as f
from antiphon.web import direct
from antiphon.web.dialect import Left
from antiphon.web.duplex.opening import CONFIG_TIMEOUT_S
from antiphon.web.intake import read_aside
from antiphon.web.reader import MOST_UNREADABLE
from antiphon.web.realtime.undecodable import Undecodable
from antiphon.web.wishes import Decoder

UPDATE_EVERY_S = 3.0
"""How often a caller is told where it stands, where nothing changes."""
SEND_S = 10.0
"""How long it may take to read that."""

Socket = WebSocket[Any, Any, Any]


class Arrival:
    """One client that wants a place for its call."""

    def __init__(self, socket: Socket, session: SessionId, decoder: Decoder) -> None:
        self._socket, self._session, self._decoder = socket, session, decoder
        self._beneath = direct.under(socket.scope)
        self._moved = asyncio.Event()
        self._heard_at = time.monotonic()
        self._unreadable = 0
        self._at_work = asyncio.Lock()
        """Held while a frame is read: what was begun is finished, whatever happens in the line."""
        self.asked: Prepare | None = None
        """How the call is to go, if the caller said so while it waited."""

    async def get_place(self, reception: Reception, mode: str, owner: str | None) -> Ticket:
        """Until there is a place, which is the caller's from then on: `Ticket.give_back` gives it back.

        Raises CannotOpen, Left, Undecodable: then there is none, nor one in the line.
        """
        ticket = reception.arrive(self._session, mode, owner, self._moved.set)
        try:
            if not ticket.served:
                await self._stand(ticket)
            await self._send(f.QueueDone())
        except BaseException:
            ticket.leave()
            if ticket.served:
                ticket.give_back()
            raise
        return ticket

    async def _stand(self, ticket: Ticket) -> None:
        told, due_s = 0, 0.0
        reading = asyncio.create_task(self._read())
        try:
            while not ticket.served:
                self._moved.clear()
                if ticket.cancelled:
                    raise CannotOpen("resource_exhausted", "the place in the line was taken away")
                standing = ticket.standing()
                if standing is not None and (standing.position != told or time.monotonic() >= due_s):
                    await self._send(_shown(standing, None if told else ticket.id))
                    told, due_s = standing.position, time.monotonic() + UPDATE_EVERY_S
                moving = asyncio.create_task(self._moved.wait())
                await asyncio.wait(
                    {reading, moving}, timeout=UPDATE_EVERY_S, return_when=asyncio.FIRST_COMPLETED
                )
                moving.cancel()
                self._check_that_it_goes_on(reading)
        finally:
            async with self._at_work:
                reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        self._check_that_it_goes_on(reading)

    async def _read(self) -> None:
        """What the caller says. Raises Left when it goes."""
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                raise Left
            async with self._at_work:
                try:
                    text = message.get("text")
                    await self._take(text if isinstance(text, str) else None)
                except Undecodable as bad:
                    self._unreadable += 1
                    if self._unreadable > MOST_UNREADABLE:
                        raise Undecodable("too_many_errors", "too many unreadable frames") from bad
                    await self._send(f.Error(error=bad.message, code=bad.code))
            self._heard_at = time.monotonic()
            if self._beneath is not None:
                self._beneath.begin_anew()

    async def _take(self, text: str | None) -> None:
        """Raises Undecodable, and Left when that is what the caller wants."""
        if text is None:
            raise Undecodable("invalid_json", "frames are JSON text, not binary")
        for wish in await read_aside(text, lambda text: self._decoder.at_once(self._decoder.parse(text))):
            match wish:
                case Prepare():
                    self.asked = wish
                case CloseSession():
                    await self._send(f.Stopped(session_id=self._session))
                    await self._socket.close(1000, "client")
                    raise Left

    def _check_that_it_goes_on(self, reading: asyncio.Task[None]) -> None:
        """Raises Left, Undecodable where it does not."""
        if reading.done() and not reading.cancelled():
            reading.result()
        beneath = self._beneath
        quiet_s = time.monotonic() - self._heard_at
        if beneath is not None and beneath.takes_room and quiet_s > CONFIG_TIMEOUT_S:
            raise Undecodable("config_timeout", "what was begun did not come to its end")

    async def _send(self, frame: f.Frame) -> None:
        """Raises Left where it is not read."""
        text = msgspec.json.encode(frame).decode()
        try:
            async with asyncio.timeout(SEND_S):
                await self._socket.send({"type": "websocket.send", "text": text, "bytes": None})
        except (TimeoutError, WebSocketDisconnect, OSError):
            raise Left from None


def _shown(standing: Standing, ticket: str | None) -> f.Frame:
    """The first time with its ticket."""
    where = {
        "position": standing.position,
        "estimated_wait_s": standing.estimated_wait_s,
        "queue_length": standing.length,
    }
    if ticket is None:
        return f.QueueUpdate(**where)  # type: ignore[arg-type]  # as Standing has them
    return f.Queued(ticket_id=ticket, **where)  # type: ignore[arg-type]
