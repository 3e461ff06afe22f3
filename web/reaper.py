"""Ends sessions that a process left when it was stopped or killed, and to which no client has come back.

Looked for in a thread, with a handle on the store of its own, as erasures are (janitor.py). The time that a
client has begins when this server does, or with the last thing written if that is later.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

import structlog

from antiphon.actors.handover import ANSWER_S
from antiphon.actors.revival import KEPT_UNTIL, end_abandoned
from antiphon.actors.session.commands import OpenWriter
from antiphon.events.errors import Locked, LogError
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Holding
from antiphon.events.units import Moment

log = structlog.get_logger(__name__)

NEVER_SLOW = 1 << 30
"""Slow writes after which the store would answer later: it answers at once."""


class Reaper:
    """`run` looks again and again until it is cancelled."""

    def __init__(
        self, data: Path, every_s: float, grace_s: float, writer: OpenWriter, ended: Callable[[], object]
    ) -> None:
        """`grace_s`: how long a client may take to come back. `ended` is called for each session that was
        ended, in the looking thread."""
        self._data, self._every_s = data, every_s
        self._grace_s = max(grace_s, ANSWER_S)  # on its way to another process a session is nobody's
        self._writer, self._ended = writer, ended
        self._since_ns = time.time_ns()
        self._stuck: set[tuple[str, int]] = set()
        self._stopping = threading.Event()

    async def run(self) -> None:
        """Cancelling waits for the session that is being ended, not for the others."""
        try:
            while True:
                await asyncio.sleep(self._every_s)
                await asyncio.to_thread(self.look)
        finally:
            self._stopping.set()

    def look(self) -> None:
        """End what nobody came back to. What cannot be ended is said once, and passed over from then on."""
        try:
            with contextlib.closing(
                SegmentLog(self._data, deliver=lambda call: call(), slow_limit=NEVER_SLOW)
            ) as store:
                for holding in store.holdings():
                    if self._stopping.is_set():
                        return
                    if self._is_abandoned(holding) and not _is_awaited(store, holding):
                        self._end(store, holding)
        except (LogError, OSError) as error:
            log.warning("reaper.failed", error=str(error))

    def _is_abandoned(self, holding: Holding) -> bool:
        if holding.live or holding.sealed or holding.erased or _key(holding) in self._stuck:
            return False
        return time.time_ns() > max(holding.last_written_ns, self._since_ns) + self._grace_s * 1e9

    def _end(self, store: SegmentLog, holding: Holding) -> None:
        try:
            end_abandoned(store, holding.session, self._writer, Moment(time.monotonic_ns(), time.time_ns()))
        except Locked:
            return  # somebody has come back after all
        except (LogError, OSError) as error:
            self._stuck.add(_key(holding))
            log.warning("reaper.not_ended", session=holding.session, error=str(error))
        else:
            self._ended()
            log.info("reaper.ended", session=holding.session, life=holding.incarnation)


def _is_awaited(store: SegmentLog, holding: Holding) -> bool:
    """Whether it is a fork that its client has longer to come to."""
    kept = store.derived(holding.session, holding.incarnation, KEPT_UNTIL)
    return kept is not None and kept.isdigit() and time.time_ns() < int(kept)


def _key(holding: Holding) -> tuple[str, int]:
    return holding.session, holding.incarnation
