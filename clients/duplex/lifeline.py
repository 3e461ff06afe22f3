"""The connection to a session, kept up.

    open -> attached -> lost -> (wait, resume)* -> attached -> ... -> over

While it is attached one task reads and another sends what the journal has. While it is not, commands are
kept, and sent in their order when it is back. `over` comes once: an ordinary end, or what went wrong.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from websockets.exceptions import ConnectionClosed

from . import events as e
from .errors import (
    DuplexClientError,
    DuplexConnectionError,
    DuplexProtocolError,
    DuplexSessionClosedError,
    DuplexSessionReplacedError,
    protocol_error,
)
from .journal import Command, Journal
from .opening import Connect, Socket
from .standing import ENDINGS, FATAL, GONE, ReconnectPolicy, Standing

ABNORMAL, AWAY = 1006, 1001


@dataclass(frozen=True, slots=True)
class Lost:
    """How a connection ended. 1006: without a word."""

    code: int
    reason: str


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
        self._url, self._connect, self._policy, self._patience = url, connect, policy, patience
        self._receive, self._ended = receive, ended
        self._socket: Socket | None = None
        self._latest: Socket | None = None
        self._over = asyncio.Event()
        self._error: DuplexClientError | None = None
        self._more = asyncio.Event()
        self._senders: dict[int, asyncio.Future[None]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._attempts = 0
        self._trouble = ""
        self._unanswered = False
        """A resume was sent and not answered: it may still arrive, and take this connection's place."""
        self._replaced_by_own = False

    # --- what the client asks -----------------------------------------------------------------------------

    async def open(self, first: dict[str, Any]) -> None:
        """Open a session with a message. Raises what the server has against it, and DuplexConnectionError."""
        socket = self._latest = await self._connect(self._url)
        try:
            async with asyncio.timeout(self._patience.handshake_s):
                await socket.send(json.dumps(first))
                while not self.standing.session_id:
                    self._greeted(e.read(_text(await socket.recv()), time.monotonic()))
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
        if self._over.is_set():
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
        await self._over.wait()

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
            while True:
                lost = await self._attached(socket)
                if self._error is not None or lost is None:
                    return
                if lost.code in ENDINGS and not self._replaced_by_own:
                    reason = self._trouble or lost.reason or f"the server closed with {lost.code}"
                    raise DuplexSessionClosedError(reason)
                self._replaced_by_own = False
                socket = await self._back(lost)
        except DuplexClientError as error:
            self._end(error)

    def _ran(self, running: asyncio.Task[None]) -> None:
        """Whatever ends the connection ends the session for its client, a mistake of this module, too."""
        if not running.cancelled() and running.exception() is not None:
            self._end(DuplexConnectionError(f"the client failed: {running.exception()!r}"))

    async def _attached(self, socket: Socket) -> Lost | None:
        """Until the connection ends; None: the session has ended with it."""
        self._socket = socket
        sending = asyncio.create_task(self._pump(socket))
        try:
            while not self._over.is_set():
                self._take(e.read(_text(await socket.recv()), time.monotonic()))
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
        self._attempts = 0
        self._receive(event)
        match event:
            case e.SessionEnded(type="session.expired", reason=reason):
                self._end(DuplexSessionClosedError(f"expired: {reason}"))
            case e.SessionEnded(reason=reason):
                told = f"{reason} ({self._trouble})" if self._trouble else reason
                self._end(None if self.closing else DuplexSessionClosedError(told))
            case e.SessionReplaced() if self._unanswered:
                self._unanswered, self._replaced_by_own = False, True
            case e.SessionReplaced(attachment_generation=generation):
                self._end(DuplexSessionReplacedError(generation))
            case e.Event(type="error"):
                self._trouble = str(protocol_error(event.raw))

    def _greeted(self, event: e.Event) -> None:
        if event.type == "error":
            raise protocol_error(event.raw)
        self._take(event)
        self.check()

    def _end(self, error: DuplexClientError | None) -> None:
        if not self._over.is_set():
            self._error = error
            self._over.set()
            self._release()
            self._ended(error)

    # --- lost ---------------------------------------------------------------------------------------------

    async def _back(self, lost: Lost) -> Socket:
        """A socket that is attached to the session again. Raises when that cannot be had."""
        self._own("connection.lost", code=lost.code, reason=lost.reason)
        policy = self._policy
        if policy is None or not self.standing.can_resume:
            raise DuplexConnectionError(f"the connection ended with {lost}{self._unsent()}")
        failure = str(lost)
        while self._attempts < policy.max_attempts:
            self._attempts += 1
            await asyncio.sleep(policy.delay_s(self._attempts, random.random()))
            try:
                socket = self._latest = await self._connect(self._url)
            except DuplexConnectionError as error:
                failure = str(error)
                continue
            event = await self._ask_back(socket)
            if isinstance(event, e.SessionResumed):
                self._resumed(event)
                return socket
            self._unanswered = self._unanswered or event is None
            failure = failure if event is None else self._not_resumed(event)
            await socket.close(AWAY)  # 1000 would be the end of the session
        raise DuplexConnectionError(f"not back after {self._attempts} attempts: {failure}{self._unsent()}")

    async def _ask_back(self, socket: Socket) -> e.Event | None:
        """What the server says to the resume; None: nothing."""
        try:
            async with asyncio.timeout(self._patience.handshake_s):
                await socket.send(json.dumps(self.standing.resume_command))
                return e.read(_text(await socket.recv()), time.monotonic())
        except (ConnectionClosed, TimeoutError):
            return None

    def _resumed(self, event: e.SessionResumed) -> None:
        accepted = event.last_accepted_client_event_id
        rewound = self.journal.rewind(accepted)
        self.standing.note(event)
        self.standing.acknowledged = 0  # tell it at once: only that ends the former token
        self._receive(event)
        self._own("connection.resumed", attempt=self._attempts, resent=rewound.resent)
        if rewound.gap:
            self._own("client.commands_lost", after=accepted, before=self.journal.first_unsent())

    def _not_resumed(self, event: e.Event) -> str:
        """Why not, where it may still succeed. Raises where it cannot."""
        if event.type == "error":
            error: DuplexProtocolError = protocol_error(event.raw)
            if self.closing and error.code == GONE:
                self._end(None)  # it was closed, and only the word of it was lost
            elif error.code in FATAL:
                self._receive(event)
            if error.code in FATAL:
                raise error
            return str(error)
        self._take(event)
        if isinstance(event, e.ResyncRequired):
            raise DuplexSessionClosedError(f"resync required: {event.reason}")
        self.check()
        return f"{event.type} came in place of session.resumed"

    def _unsent(self) -> str:
        waiting = self.journal.end - self.journal.sent
        return f"; {waiting} commands were not sent" if waiting else ""

    def _own(self, type_: str, **members: Any) -> None:
        self._receive(e.own(type_, time.monotonic(), **members))

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


def _text(message: str | bytes) -> str:
    """Binary frames are no part of the protocol: they are told as unreadable."""
    return message if isinstance(message, str) else f"({len(message)} bytes)"


def _lost(closed: ConnectionClosed) -> Lost:
    return Lost(ABNORMAL, "") if closed.rcvd is None else Lost(closed.rcvd.code, closed.rcvd.reason)
