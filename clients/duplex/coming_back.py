"""Having a lost connection back: attempts, and what the server says to them."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from websockets.exceptions import ConnectionClosed

from . import events as e
from .errors import (
    DuplexClientError,
    DuplexConnectionError,
    DuplexSessionClosedError,
    DuplexSessionReplacedError,
    protocol_error,
)
from .journal import Journal
from .opening import Socket
from .reading import own, received
from .standing import FATAL, ReconnectPolicy, Standing

AWAY = 1001
"""What is said to a connection that is given up: 1000 would be the end of the session."""


@dataclass(frozen=True, slots=True)
class Lost:
    """How a connection ended. 1006: without a word."""

    code: int
    reason: str


class ComingBack:
    """`tell` is called with what the server says and with the client's own events."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Socket]],
        policy: ReconnectPolicy | None,
        handshake_s: float,
        standing: Standing,
        journal: Journal,
        tell: Callable[[e.Event], None],
    ) -> None:
        self._connect, self._policy, self._handshake_s = connect, policy, handshake_s
        self._standing, self._journal, self._tell = standing, journal, tell
        self.attempts = 0
        """Since the last frame that came."""
        self.unanswered = 0
        """Resumes sent and not answered: each may still arrive, and take the place of a later one."""

    async def back(self, lost: Lost) -> Socket:
        """A socket that is attached to the session again. Raises when that cannot be had."""
        self._own("connection.lost", code=lost.code, reason=lost.reason)
        policy = self._policy
        if policy is None or not self._standing.can_resume:
            raise DuplexConnectionError(f"the connection ended with {lost}{self._unsent()}")
        failure = str(lost)
        while self.attempts < policy.max_attempts:
            self.attempts += 1
            await asyncio.sleep(policy.delay_s(self.attempts, random.random()))
            try:
                socket = await self._connect()
            except DuplexConnectionError as error:
                failure = str(error)
                continue
            event = await self._ask(socket)
            if isinstance(event, e.SessionResumed):
                self._resumed(event)
                return socket
            await socket.close(AWAY)
            if event is None:
                self.unanswered += 1
            else:
                failure = self._refused(event)
        raise DuplexConnectionError(f"not back after {self.attempts} attempts: {failure}{self._unsent()}")

    async def _ask(self, socket: Socket) -> e.Event | None:
        """What the server says to the resume; None: nothing."""
        try:
            async with asyncio.timeout(self._handshake_s):
                await socket.send(json.dumps(self._standing.resume_command))
                return received(await socket.recv())
        except (ConnectionClosed, TimeoutError):
            return None
        except asyncio.CancelledError:
            await socket.close(AWAY)
            raise

    def _resumed(self, event: e.SessionResumed) -> None:
        accepted = event.last_accepted_client_event_id
        rewound = self._journal.rewind(accepted)
        self._standing.note(event)
        self._standing.acknowledged = 0  # tell it soon: only that ends the former token
        self._tell(event)
        self._own("connection.resumed", attempt=self.attempts, resent=rewound.resent)
        if rewound.gap:
            self._own("client.commands_lost", after=accepted, before=self._journal.first_unsent())

    def _refused(self, event: e.Event) -> str:
        """Why not, where it may still succeed. Raises where it cannot."""
        self._standing.note(event)
        if event.type != "error":
            self._tell(event)
            ends_with = ending(event)
            if ends_with is not None:
                raise ends_with
            return f"{event.type} came in place of session.resumed"
        error = protocol_error(event.raw)
        if error.code in FATAL:
            raise error
        return str(error)

    def _unsent(self) -> str:
        waiting = self._journal.end - self._journal.sent
        return f"; {waiting} commands were not sent" if waiting else ""

    def _own(self, type_: str, **members: Any) -> None:
        self._tell(own(type_, time.monotonic(), **members))


def ending(event: e.Event, trouble: str = "") -> DuplexClientError | None:
    """What a session ends with that ends with such an event; None: with this one none does. `trouble` is the
    last error before it."""
    match event:
        case e.SessionEnded(type="session.expired", reason=reason):
            return DuplexSessionClosedError(f"expired: {reason}")
        case e.SessionEnded(reason=reason) if not trouble or trouble.startswith(reason):
            return DuplexSessionClosedError(trouble or reason)
        case e.SessionEnded(reason=reason):
            return DuplexSessionClosedError(f"{reason} ({trouble})")
        case e.SessionReplaced(attachment_generation=generation):
            return DuplexSessionReplacedError(generation)
        case e.ResyncRequired(reason=reason):
            return DuplexSessionClosedError(f"resync required: {reason}")
        case _:
            return None
