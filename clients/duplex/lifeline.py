"""The connection to a session, kept up.

    open -> attached -> lost -> (wait, resume)* -> attached -> ... -> over

While it is attached one task reads and another sends what the journal has. While it is not, commands are
kept, and sent in their order when it is back. `over` comes once: an ordinary end, or what went wrong.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from websockets.exceptions import ConnectionClosed

from . import events as e
from .coming_back import ComingBack, Lost, ending
from .errors import (
    DuplexClientError,
    DuplexConnectionError,
    DuplexProtocolError,
    DuplexSessionClosedError,
    protocol_error,
)
from .journal import Command, Journal
from .opening import Connect, Socket
from .reading import received
from .standing import ENDINGS, GONE, NOT_OURS, ReconnectPolicy, Standing

ABNORMAL = 1006


@dataclass(frozen=True, slots=True)
class Patience:
    """How long is waited for what, in seconds."""

    handshake_s: float = 30.0
    heartbeat_s: float | None = 30.0
    """None: no heartbeats."""
    acknowledge_s: float = 1.0
    """How often the server is told what arrived, if anything did."""


class Lifeline:
    """`receive` is called with every event, in order and none twice; `ended` once, with what went wrong."""

    def __init__(
        self,
        url: str,
        connect: Connect,
        policy: ReconnectPolicy | None,
        patience: Patience,
        *,
        receive: Callable[[e.Event], None],
        ended: Callable[[DuplexClientError | None], None],
    ) -> None:
        self.standing = Standing()
        self.journal = Journal()
        self.closing = False
        """The client has asked for the end: when it comes it is no error."""
        self._connect = partial(connect, url)
        self._patience, self._receive, self._ended = patience, receive, ended
        self._return = ComingBack(
            self._connect, policy, patience.handshake_s, self.standing, self.journal, receive
        )
        self._socket: Socket | None = None
        self._latest: Socket | None = None
        self._over = asyncio.Event()
        self._error: DuplexClientError | None = None
        self._more = asyncio.Event()
        self._senders: dict[int, asyncio.Future[None]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._trouble = ""
        """The last error that the server told."""
        self._replaced: e.SessionReplaced | None = None
        """Perhaps by a late resume of its own: then it may come back."""

    # --- what the client asks -----------------------------------------------------------------------------

    async def open(self, first: dict[str, Any]) -> None:
        """Open a session with a message. Raises what the server has against it, and DuplexConnectionError."""
        socket = self._latest = await self._connect()
        try:
            async with asyncio.timeout(self._patience.handshake_s):
                await socket.send(json.dumps(first))
                while not self.standing.session_id:
                    self._greeted(received(await socket.recv()))
        except ConnectionClosed as closed:
            raise DuplexConnectionError(f"closed before the session was open: {_lost(closed)}") from closed
        except TimeoutError:
            raise DuplexConnectionError("the server did not open the session in time") from None
        self._socket = socket
        running = asyncio.create_task(self._run(socket))
        running.add_done_callback(self._ran)
        self._tasks = [running, asyncio.create_task(self._acknowledge())]
        if self._patience.heartbeat_s is not None:
            self._tasks.append(asyncio.create_task(self._beat(self._patience.heartbeat_s)))

    async def send(self, command: Command) -> None:
        """Send a command, or keep it for when the connection is back. Raises DuplexOverflowError when there
        is no room to keep it, and what the session ended with."""
        self.check()
        number = self.journal.add(command)
        self._more.set()
        if self._socket is None:
            return
        waiting = self._senders[number] = asyncio.get_running_loop().create_future()
        try:
            await waiting
        finally:
            self._senders.pop(number, None)
        if number >= self.journal.sent:
            self.check()

    def check(self) -> None:
        """Raises what the session ended with, if it has ended."""
        if self._over.is_set():
            raise self._error or DuplexSessionClosedError("closed by this client")

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    @property
    def is_attached(self) -> bool:
        return self._socket is not None

    async def until_over(self) -> None:
        """Raises what the session ended with, unless that was an ordinary end."""
        await self._over.wait()
        if self._error is not None:
            raise self._error

    async def hang_up(self) -> None:
        """Leave, whatever stands. To the server 1000 is the end of the session."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._latest is not None:
            await self._latest.close()
        self._end(DuplexSessionClosedError("closed by this client"))

    # --- attached -----------------------------------------------------------------------------------------

    async def _run(self, socket: Socket) -> None:
        try:
            while (lost := await self._attached(socket)) is not None:
                if lost.code in ENDINGS and self._replaced is None:
                    reason = self._trouble or lost.reason or f"the server closed with {lost.code}"
                    raise DuplexSessionClosedError(reason)
                socket = self._latest = await self._return.back(lost)
                self._replaced = None
        except DuplexClientError as error:
            by_another = isinstance(error, DuplexProtocolError) and error.code == NOT_OURS
            self._end(ending(self._replaced) if self._replaced is not None and by_another else error)

    def _ran(self, running: asyncio.Task[None]) -> None:
        """Whatever ends the connection ends the session for its client, a mistake of this module, too."""
        if not running.cancelled() and (mistake := running.exception()) is not None:
            failure = DuplexConnectionError(f"the client failed: {mistake!r}")
            failure.__cause__ = mistake
            self._end(failure)

    async def _attached(self, socket: Socket) -> Lost | None:
        """Until the connection ends; None: the session has ended with it."""
        self._socket = socket
        sending = asyncio.create_task(self._pump(socket))
        try:
            while not self._over.is_set():
                self._take(received(await socket.recv()))
            return None
        except ConnectionClosed as closed:
            return _lost(closed)
        finally:
            self._socket = None
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            self._release()

    async def _pump(self, socket: Socket) -> None:
        with contextlib.suppress(ConnectionClosed):  # whoever reads notices
            while True:
                command = self.journal.next()
                if command is None:
                    self._more.clear()
                    await self._more.wait()
                    continue
                await socket.send(command.text)
                self.journal.sent += 1
                sender = self._senders.pop(self.journal.sent - 1, None)
                if sender is not None and not sender.done():
                    sender.set_result(None)

    def _release(self) -> None:
        """Nobody waits for a connection that is gone."""
        for sender in self._senders.values():
            if not sender.done():
                sender.set_result(None)

    def _take(self, event: e.Event) -> None:
        if not self.standing.note(event):
            return
        self._return.attempts = 0
        self._receive(event)
        match event:
            case e.SessionReplaced() if self._return.unanswered:
                self._return.unanswered -= 1
                self._replaced = event
            case e.SessionReplaced() | e.SessionEnded():
                self._end(ending(event, self._trouble))
            case e.Event(type="error"):
                self._trouble = str(protocol_error(event.raw))

    def _greeted(self, event: e.Event) -> None:
        if event.type == "error":
            raise protocol_error(event.raw)
        self._take(event)
        self.check()

    def _end(self, error: DuplexClientError | None) -> None:
        if not self._over.is_set():
            self._error = None if error is None or self._asked_for(error) else error
            self._over.set()
            self._release()
            self._ended(self._error)

    def _asked_for(self, error: DuplexClientError) -> bool:
        """Whether it is the end that the client has asked for, or the server knows the session no more: then
        only the word of its end was lost."""
        gone = isinstance(error, DuplexProtocolError) and error.code == GONE
        return self.closing and (gone or type(error) is DuplexSessionClosedError)

    # --- meanwhile ----------------------------------------------------------------------------------------

    async def _beat(self, every_s: float) -> None:
        """Goes on while the connection is being had back: there it says nothing."""
        while True:
            await asyncio.sleep(every_s)
            await self._aside({"type": "session.heartbeat"})

    async def _acknowledge(self) -> None:
        while True:
            await asyncio.sleep(self._patience.acknowledge_s)
            number = self.standing.last_number
            if number > self.standing.acknowledged and self._socket is not None:
                self.standing.acknowledged = number
                await self._aside({"type": "session.event_ack", "server_event_seq": number})

    async def _aside(self, frame: dict[str, Any]) -> None:
        """Say something that is not worth repeating."""
        socket = self._socket
        if socket is not None:
            with contextlib.suppress(ConnectionClosed):
                await socket.send(json.dumps(frame))


def _lost(closed: ConnectionClosed) -> Lost:
    return Lost(ABNORMAL, "") if closed.rcvd is None else Lost(closed.rcvd.code, closed.rcvd.reason)
