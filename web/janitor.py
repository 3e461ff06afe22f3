"""Erases what the settings say is not to be kept: at the start, every ten minutes, and when room is short.

What is due is decided in events/retention.py. The erasing is done in a thread, with a handle on the store of
its own: the loop and the sessions on it do not wait for the disk. A life that cannot be erased is said so in
the program's log and left for the next time; all others are erased meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import structlog
from msgspec.structs import replace

from antiphon.events.errors import LogError, NoSuchSession
from antiphon.events.retention import Erasure, Policy, due, key
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Holding

from .disk import Disk

log = structlog.get_logger(__name__)

EVERY_S = 600.0
AT_MOST_EVERY_S = 10.0
"""However often it is woken: a server that refuses every caller would have it walk the store all day."""


class Janitor:
    """`run` sweeps until it is cancelled; `wake` asks for a sweep soon."""

    def __init__(self, data: Path, policy: Policy, disk: Disk, erased: Callable[[int], object]) -> None:
        """`erased` is called with the bytes of everything that was erased, in the sweeping thread."""
        self._data, self._policy, self._disk, self._erased = data, policy, disk, erased
        self._wanted = asyncio.Event()
        self._stopping = threading.Event()

    def wake(self) -> None:
        self._wanted.set()

    async def run(self) -> None:
        """Cancelling waits for the erasure that is under way, not for the rest of the sweep."""
        try:
            while True:
                self._wanted.clear()
                await asyncio.to_thread(self.sweep)
                await asyncio.sleep(AT_MOST_EVERY_S)
                try:
                    await asyncio.wait_for(self._wanted.wait(), EVERY_S - AT_MOST_EVERY_S)
                except TimeoutError:
                    continue
        finally:
            self._stopping.set()

    def sweep(self) -> None:
        """Erase everything that is due now. What it cannot do it says, and does not raise."""
        if not self._policy.erases:
            return
        try:
            with contextlib.closing(SegmentLog(self._data, deliver=lambda call: call())) as store:
                stuck: set[tuple[str, int]] = set()
                while failed := set(self._erase_due(store, stuck)):
                    stuck |= failed  # others may have to go in their place
        except (LogError, OSError) as error:
            log.warning("retention.sweep_failed", error=str(error))

    def _erase_due(self, store: SegmentLog, stuck: set[tuple[str, int]]) -> Iterator[tuple[str, int]]:
        """Erase; what could not be."""
        holdings = [replace(one, live=True) if key(one) in stuck else one for one in store.holdings()]
        free = self._disk.free_bytes()
        for erasure in due(holdings, time.time_ns(), self._policy, 1 << 62 if free is None else free):
            if self._stopping.is_set():
                return
            if not self._erase(store, erasure):
                yield key(erasure.holding)

    def _erase(self, store: SegmentLog, erasure: Erasure) -> bool:
        holding: Holding = erasure.holding
        facts = {"session": holding.session, "life": holding.incarnation, "scope": erasure.scope.value}
        try:
            store.erase(holding.session, erasure.scope, incarnation=holding.incarnation)
        except NoSuchSession:  # somebody else erased it meanwhile
            return True
        except (LogError, OSError) as error:
            log.warning("retention.not_erased", **facts, error=str(error))
            return False
        self._erased(erasure.bytes_)
        log.info("retention.erased", **facts, setting=erasure.reason, bytes=erasure.bytes_)
        return True
