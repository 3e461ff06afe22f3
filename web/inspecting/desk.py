"""Lives of sessions that somebody is looking into: each is read once, and followed as long as anybody looks.

Reading goes on beside the conversations of this process, a few milliseconds at a time. What was read is kept
for a while after the last look, for `MOST` lives at most.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import structlog

from antiphon.events.envelope import Stored
from antiphon.events.errors import LogError
from antiphon.events.ids import SessionId
from antiphon.events.store import CaughtUp, Log, SealedMark
from antiphon.replay.inspect.life import LifeView

log = structlog.get_logger(__name__)

MOST = 4
KEPT_S = 60.0
TOLD_EVERY_S = 0.05
AT_ONCE = 256
"""Events that are read before others have a turn: some 4 ms of work."""
PAUSE_S = 0.001


class Inspection:
    """One life of a session, as far as it has been read. What else is read of it is read of that life."""

    def __init__(
        self, session: SessionId, incarnation: int, events: AsyncIterator[Stored | CaughtUp | SealedMark]
    ) -> None:
        self.session, self.incarnation = session, incarnation
        self.life = LifeView(session)
        self.caught_up = self.over = False
        self.damage: str | None = None
        """Why nothing behind what was read can be."""
        self.lookers = 0
        self.release: asyncio.TimerHandle | None = None
        self._moved = asyncio.Event()
        self._telling: asyncio.TimerHandle | None = None
        self._reading = asyncio.create_task(self._read(events))

    @property
    def coming(self) -> asyncio.Event:
        """Set when more has been read than now, or it is over."""
        return self._moved

    async def reach(self, seq: int) -> None:
        """Until event `seq` has been read, or everything that there is."""
        while self.life.next_seq <= seq and not (self.caught_up or self.over):
            await self.coming.wait()

    async def read_whole(self) -> None:
        """Until everything that there is has been read."""
        while not (self.caught_up or self.over):
            await self.coming.wait()

    def close(self) -> None:
        self._reading.cancel()
        if self.release is not None:
            self.release.cancel()
        if self._telling is not None:
            self._telling.cancel()

    async def _read(self, events: AsyncIterator[Stored | CaughtUp | SealedMark]) -> None:
        try:
            async for what in events:
                if isinstance(what, Stored):
                    self.life.take(what)
                    if not self.caught_up and what.seq % AT_ONCE == 0:
                        await asyncio.sleep(PAUSE_S)
                elif isinstance(what, CaughtUp):
                    self.caught_up = True
                self._soon()
        except LogError as error:
            self.damage = str(error)
        except Exception as error:  # nobody waits for what is not shown any more because of a mistake of ours
            log.error("inspection.failed", session=self.session, exc_info=error)
            self.damage = "the log cannot be shown"
        self.over = True
        self._tell()

    def _soon(self) -> None:
        if self._telling is None:
            self._telling = asyncio.get_running_loop().call_later(TOLD_EVERY_S, self._tell)

    def _tell(self) -> None:
        self._telling = None
        self._moved.set()
        if not self.over:
            self._moved = asyncio.Event()


class Desk:
    """All that are being looked into."""

    def __init__(self, store: Log) -> None:
        self._store = store
        self._open: dict[tuple[SessionId, int], Inspection] = {}

    @contextlib.asynccontextmanager
    async def look(self, session: SessionId) -> AsyncIterator[Inspection]:
        """The latest life of the session, from now on followed. Raises LogError where there is none."""
        incarnation = self._store.head(session).incarnation
        key = session, incarnation
        inspection = self._open.pop(key, None)
        if inspection is None:
            inspection = Inspection(session, incarnation, self._store.follow(session))
        self._open[key] = inspection
        self._make_room()
        if inspection.release is not None:
            inspection.release.cancel()
        inspection.lookers += 1
        try:
            yield inspection
        finally:
            inspection.lookers -= 1
            if not inspection.lookers:
                loop = asyncio.get_running_loop()
                inspection.release = loop.call_later(KEPT_S, self._forget, key)

    def close(self) -> None:
        for inspection in self._open.values():
            inspection.close()

    def _forget(self, key: tuple[SessionId, int]) -> None:
        """What was read of it has been kept for long enough."""
        inspection = self._open.get(key)
        if inspection is not None and not inspection.lookers:
            del self._open[key]
            inspection.close()

    def _make_room(self) -> None:
        for key in [*self._open][: max(len(self._open) - MOST, 0)]:
            self._forget(key)
