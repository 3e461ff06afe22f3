"""Keeps every planned stage running: starts it, notices its death, starts it again after a while.

A stage whose loop does not go round for HANGS_S is killed, and so is one that for LOADS_S does not even
while it loads: its process is there, and takes no command. A keeper that was itself kept from looking judges
nobody.

The thread of the keeper is the only one that talks to thespian, whose calls may block for long when
something is wrong; the launcher's own loop stays free to stop everything, and asks `stuck_s` now and then.
"""

from __future__ import annotations

import os
import selectors
import signal
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import structlog
from msgspec import Struct

from antiphon.actors.processes.pulse import Pulse
from antiphon.actors.processes.stage_process import StartStage

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 30.0
SUCCESS_S = 5.0
"""For every so long that a stage was ready it is forgiven one failure."""
HANGS_S = 6.0
LOADS_S = 60.0
"""Loading keeps a loop from going round: whoever imports a large library has the interpreter for itself."""
LOOKS_EVERY_S = 1.0

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
    failures: float = 0.0
    began: float = 0.0
    due: float | None = 0.0
    """When to start it (again); None while it runs."""
    pidfd: int = -1
    pulse: Pulse | None = None
    killed: bool = False
    ready: float | None = None
    """Since when it has not only been loading."""

    def died(self, now: float) -> float:
        """Count a death; returns how long to wait before the next start."""
        served_s = 0.0 if self.ready is None else now - self.ready
        self.failures = max(self.failures - served_s / SUCCESS_S, 0.0) + 1
        pause: float = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** (self.failures - 1))
        self.due, self.ready = now + pause, None
        return pause

    def felt(self, now: float) -> None:
        if self.pulse is not None:
            self.pulse.feel(now)
            if self.ready is None and not self.pulse.busy:
                self.ready = now

    def silent_s(self, now: float) -> float:
        """For how long its loop has not gone round."""
        last = None if self.pulse is None else self.pulse.last
        return now - (self.began if last is None else last)

    def hangs(self, now: float) -> bool:
        busy = self.pulse is None or self.pulse.busy
        return self.silent_s(now) > (LOADS_S if busy else HANGS_S)


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
        # What is registered with a descriptor is what to do when there is something to read.
        self._selector.register(self._wake, selectors.EVENT_READ, lambda: None)
        self._stopping = False
        self._looked = time.monotonic()
        self._asked: float | None = None
        """Since when the system is being asked to start a stage."""
        self._thread = threading.Thread(target=self._run, name="stage-keeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout_s: float) -> bool:
        """End the stages and their system; False if that took longer than `timeout_s`."""
        self._stopping = True
        os.eventfd_write(self._wake, 1)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def stuck_s(self) -> float:
        """For how long the system has not answered; from any thread."""
        asked = self._asked
        return 0.0 if asked is None else time.monotonic() - asked

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
                key.data()
            self._look()
            self._start_due()
        self._system.shut_down()

    def _start_due(self) -> None:
        for kept in self._kept:
            now = time.monotonic()
            if kept.due is not None and kept.due <= now and not self._stopping:
                kept.due, kept.began, kept.killed = None, now, False
                self._begin(kept)

    def _begin(self, kept: Kept) -> None:
        kept.pulse = Pulse.named(Path(kept.start.pulse_path))
        self._asked = kept.began
        pid = self._system.start_stage(kept.start)
        self._asked = None
        try:
            if pid is None:
                self._died(kept)
                return
            kept.pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            self._died(kept)
            return
        self._selector.register(kept.pidfd, selectors.EVENT_READ, partial(self._ended, kept))
        self._selector.register(kept.pulse.fd, selectors.EVENT_READ, partial(_felt, kept))
        log.info("stage.started", stage=kept.start.name, pid=pid)

    def _ended(self, kept: Kept) -> None:
        self._selector.unregister(kept.pidfd)
        os.close(kept.pidfd)
        if kept.pulse is not None:
            self._selector.unregister(kept.pulse.fd)
        self._died(kept)

    def _died(self, kept: Kept) -> None:
        if kept.pulse is not None:
            kept.pulse.close()
            kept.pulse = None
        pause = kept.died(time.monotonic())
        if not self._stopping:
            failures = round(kept.failures, 1)
            log.error("stage.died", stage=kept.start.name, failures=failures, restart_in_s=round(pause, 2))

    def _look(self) -> None:
        """Kill those that hang."""
        now = time.monotonic()
        was_away, self._looked = now - self._looked > HANGS_S / 2, now
        for kept in self._kept:
            if kept.pulse is None or kept.killed:
                continue
            if was_away:
                kept.pulse.last = now
            elif kept.hangs(now):
                log.error("stage.hangs", stage=kept.start.name, silent_s=round(kept.silent_s(now)))
                kept.killed = True
                signal.pidfd_send_signal(kept.pidfd, signal.SIGKILL)

    def _pause(self) -> float:
        """How long nothing needs to be looked after."""
        dues = [kept.due for kept in self._kept if kept.due is not None]
        return max(0.0, min([LOOKS_EVERY_S, *(due - time.monotonic() for due in dues)]))


def _felt(kept: Kept) -> None:
    kept.felt(time.monotonic())
