"""Listening in: a connection that is shown a session and asks for nothing.

An observer reads the log, from whatever process writes it; the session does not know of it, and an observer
that reads slowly slows nobody. It is shown the session as it was configured, and from then on what comes;
with `after` in its URL what came after that frame, 0 being the beginning. What an observer sends is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import structlog
from litestar import WebSocket

from antiphon.events.envelope import Stored
from antiphon.events.errors import LogError, NoSuchSession
from antiphon.events.ids import SessionId
from antiphon.events.store import CaughtUp, Log, SealedMark
from antiphon.events.vocabulary import (
    EpochAdvanced,
    SessionClosed,
    SessionConfigured,
    SessionExpired,
    SessionFailed,
    SessionOpened,
)
from antiphon.projections.base import frame_number

from . import direct
from .catching_up import AHEAD_BYTES
from .coming_back import LONGEST, number_in
from .conversation import write
from .dialect import Dialect
from .metrics import Metrics
from .outbox import Letter, Outbox
from .retelling import Retelling
from .showing import Showing

log = structlog.get_logger(__name__)

YES = ("1", "true", "on", "yes")
MOST_REFUSED = 100
"""Frames that an observer may send in vain."""
ENDS = (SessionClosed, SessionExpired, SessionFailed)


def is_asked_for(query: Mapping[str, str]) -> bool:
    """Whether a connection wants to observe."""
    return query.get("observe", "").lower() in YES


class Observer:
    """One observing connection."""

    def __init__(self, socket: WebSocket[Any, Any, Any], dialect: Dialect, metrics: Metrics) -> None:
        self._socket, self._dialect, self._metrics = socket, dialect, metrics
        self.outbox = Outbox(lambda letter: None)
        self._replies = 0

    def turn_away(self, code: str, message: str) -> None:
        self._refuse(code, message)
        self.outbox.close(1008, code)

    async def observe(self, store: Log) -> None:
        """Show the session until it is over, or until the observer goes. What is shown `write` sends."""
        beneath = direct.under(self._socket.scope)
        if beneath is not None:
            self.outbox.use(beneath.send_now, beneath.writable.wait)
        self._metrics.observers.inc()
        showing = asyncio.create_task(self._show(store))
        showing.add_done_callback(self._shown)
        writing = asyncio.create_task(write(self._socket, self.outbox))
        sides = [writing, asyncio.create_task(self._refuse_all())]
        try:
            await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._metrics.observers.dec()
            for task in (showing, *sides):
                task.cancel()
            await asyncio.gather(showing, *sides, return_exceptions=True)

    def _shown(self, showing: asyncio.Task[None]) -> None:
        """Nobody waits for what is not shown any more because of a mistake of ours."""
        if not showing.cancelled() and (error := showing.exception()) is not None:
            log.error("observer.failed", exc_info=error)
            self.outbox.close(1011, "internal_error")

    async def _show(self, store: Log) -> None:
        query = self._socket.query_params
        session = SessionId(query.get("session_id", "")[:LONGEST])
        try:
            given = number_in(query.get("after"))
        except ValueError:
            self.turn_away("invalid_value", "after is the number, or the id, of a frame")
            return
        try:
            after = frame_number(store.head(session).next_seq, 0) - 1 if given is None else given
            showing = Showing(self._dialect, self._dialect.projection.begin(0))
            retelling = Retelling(store, session, showing, after, _introduces, silent=True)
            await self._follow(store, session, retelling)
        except NoSuchSession:
            self.turn_away("session_not_found", f"there is no session {session!r}: session_id names one")
        except LogError as error:
            log.warning("observer.log_unreadable", session=session, code=error.code)
            self.turn_away(error.code, "the session's log cannot be read")

    async def _follow(self, store: Log, session: SessionId, retelling: Retelling) -> None:
        async for item in store.follow(session):
            if isinstance(item, CaughtUp | SealedMark):
                continue
            if isinstance(item.event, EpochAdvanced):
                self.outbox.take_back_audio()
            for letter in retelling.letters(item):
                self.outbox.put(letter)
            if isinstance(item.event, ENDS):
                break
            await self.outbox.below(AHEAD_BYTES)
        self.outbox.close(1000, "the session is over")

    async def _refuse_all(self) -> None:
        """Until the observer goes."""
        while (await self._socket.receive())["type"] != "websocket.disconnect":
            self._refuse("observer_is_read_only", "an observer asks for nothing")
            if self._replies > MOST_REFUSED:
                self.outbox.close(1008, "too_many_errors")

    def _refuse(self, code: str, message: str) -> None:
        self._replies += 1
        said = self._dialect.replies.refused(f"event_reply_{self._replies}", code, message, None, None)
        if said is not None:
            self.outbox.put(Letter(self._dialect.projection.encode(said)))


def _introduces(stored: Stored) -> bool:
    """Whether an event is told also to who comes later: it says what the session is."""
    return isinstance(stored.event, SessionOpened | SessionConfigured)
