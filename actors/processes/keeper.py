"""Keeps every planned stage running: starts it, notices its death, starts it again after a while.

The thread of the keeper is the only one that talks to thespian, whose calls may block for long when
something is wrong; the launcher's own loop stays free to stop everything.
"""

from __future__ import annotations

import os
import selectors
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import structlog
from msgspec import Struct

from antiphon.actors.processes.stage_process import StartStage

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 30.0
SETTLED_S = 60.0
"""A stage that lived so long is no longer counted as failing."""

log = structlog.get_logger()


class StageSystem(Protocol):
    """Where stage processes come from."""

    def start_stage(self, start: StartStage) -> int | None:
        """Create the process and start the stage in it: its pid, or None if that failed."""

    def shut_down(self) -> None:
        """End all stages and the system itself."""


class Kept(Struct):
    """One stage and how it has fared."""

    start: StartStage
    failures: int = 0
    began: float = 0.0
    due: float | None = 0.0
    """When to start it (again); None while it runs."""

    def died(self, now: float) -> float:
        """Count a death; returns how long to wait before the next start."""
        self.failures = 1 if now - self.began >= SETTLED_S else self.failures + 1
        pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** (self.failures - 1))
        self.due = now + pause
        return pause


class StageKeeper:
    """Starts with `start`, ends with `stop`; `stages_started` is called once, when all were tried once."""

    def __init__(
        self,
        system: StageSystem,
        stages: Sequence[StartStage],
        *,
        stages_started: Callable[[], None],
        failed: Callable[[], None],
    ) -> None:
        self._system = system
        self._kept = [Kept(start) for start in stages]
        self._stages_started, self._failed = stages_started, failed
        self._selector = selectors.DefaultSelector()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._selector.register(self._wake, selectors.EVENT_READ, None)
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="stage-keeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout_s: float) -> bool:
        """End the stages and their system; False if that took longer than `timeout_s`."""
        self._stopping = True
        os.eventfd_write(self._wake, 1)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._keep()
        except Exception:
            log.exception("stage_keeper.failed")
            self._failed()

    def _keep(self) -> None:
        self._start_due()
        self._stages_started()
        while not self._stopping:
            for key, _ in self._selector.select(self._pause()):
                if key.data is not None:
                    self._selector.unregister(key.fd)
                    os.close(key.fd)
                    self._died(key.data)
            self._start_due()
        self._system.shut_down()

    def _start_due(self) -> None:
        now = time.monotonic()
        for kept in self._kept:
            if kept.due is None or kept.due > now or self._stopping:
                continue
            kept.due, kept.began = None, now
            pid = self._system.start_stage(kept.start)
            try:
                if pid is None:
                    self._died(kept)
                else:
                    self._selector.register(os.pidfd_open(pid), selectors.EVENT_READ, kept)
                    log.info("stage.started", stage=kept.start.name, pid=pid)
            except ProcessLookupError:
                self._died(kept)

    def _died(self, kept: Kept) -> None:
        pause = kept.died(time.monotonic())
        if not self._stopping:
            log.error("stage.died", stage=kept.start.name, failures=kept.failures, restart_in_s=pause)

    def _pause(self) -> float | None:
        dues = [kept.due for kept in self._kept if kept.due is not None]
        return max(0.0, min(dues) - time.monotonic()) if dues else None
