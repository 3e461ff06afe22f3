"""The serving processes as the launcher keeps them: started, felt for, and started again.

* One that ends is started again, at first without much of a pause, then after pauses that grow. Every
  SUCCESS_S for which it answered make good for one failure; after MOST_FAILURES that nothing made good the
  server gives up. One that was told to stop has not failed.
* They are asked of the fork server (fork_server.py), which tells when one is born, or why it was not.
* One that does not show that it is alive (pulse.py) for HANGS_S is killed, and so is one that takes longer
  than START_S to begin. A launcher that was itself kept from looking judges nobody.
* All accept on one listening socket, which the launcher keeps open: who connects while a process is being
  started waits for it, or is served by another.

Everything here runs on the launcher's main thread.
"""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Callable

import structlog

from antiphon.actors.processes.errors import LaunchError
from antiphon.actors.processes.fork_server import ending
from antiphon.actors.processes.pulse import Pulse

SUCCESS_S = 2.0
MOST_FAILURES = 8
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0
HANGS_S = 6.0
START_S = 60.0
TOLD_TO_STOP = (signal.SIGTERM, signal.SIGINT)
"""Whoever ends by one of them has done what it was told, and has not failed."""
LOOKS_EVERY_S = 1.0

Ask = Callable[["Worker", int, bool], object]
"""Asks for the worker's process, which beats on that descriptor; the third: it is not the first."""

log = structlog.get_logger()


class Worker:
    """One serving process, and those that take its place."""

    def __init__(self, number: int, ask: Ask, ended: Callable[[int, int], object]) -> None:
        self.number = number
        self._ask, self._ended = ask, ended
        self.pid: int | None = None
        self._pulse: Pulse | None = None
        """There is one from when the process is asked for."""
        self._began = 0.0
        self._killed = False
        self._failures, self._starts = 0.0, 0
        self._watched_by: selectors.BaseSelector | None = None
        self._pidfd = -1
        self.due: float | None = None
        """When it is to be asked for again; None while it runs, or is to come."""

    def begin(self) -> None:
        """Ask for it. Raises OSError."""
        pulse, beating_fd = Pulse.inherited()
        try:
            self._ask(self, beating_fd, self._starts > 0)
        except OSError:
            pulse.close()
            raise
        finally:
            os.close(beating_fd)  # the process has it: it alone
        self._pulse, self.due, self._killed = pulse, None, False
        self._starts += 1

    def born(self, pid: int) -> None:
        """See fork_server.Parent."""
        self.pid, self._pidfd, self._began = pid, os.pidfd_open(pid), time.monotonic()
        self._watch()

    def stillborn(self, reason: str) -> None:
        """See fork_server.Parent. Raises LaunchError when there is no point in asking again, like `look`."""
        if self._pulse is not None:
            self._pulse.close()
            self._pulse = None
        self._failed(reason, 0.0)

    def watch(self, selector: selectors.BaseSelector) -> None:
        """Be told of its pulse and its end from now on."""
        self._watched_by = selector
        self._watch()

    def _watch(self) -> None:
        if self._watched_by is not None and self.pid is not None and self._pulse is not None:
            self._watched_by.register(self._pidfd, selectors.EVENT_READ, self._over)
            self._watched_by.register(self._pulse.fd, selectors.EVENT_READ, self._felt)

    def look(self, now: float, was_away: bool) -> None:
        """Ask for it if that is due, kill it if it hangs."""
        if self.due is not None and self.due <= now:
            try:
                self.begin()
            except OSError as error:
                self._failed(f"it could not be started: {error.strerror}", 0.0)
        elif self.pid is not None and self._pulse is not None and not self._killed:
            last, most = (self._began, START_S) if self._pulse.last is None else (self._pulse.last, HANGS_S)
            if was_away:
                self._pulse.last = self._pulse.last and now
            elif now - last > most:
                log.error("worker.hangs", worker=self.number, pid=self.pid, silent_s=round(now - last))
                self._killed = True
                os.kill(self.pid, signal.SIGKILL)

    def end(self, deadline: float) -> None:
        """Wait until it has ended, and kill it at the deadline; it is not followed by another."""
        if self.pid is not None:
            with selectors.DefaultSelector() as selector:
                selector.register(self._pidfd, selectors.EVENT_READ)
                if not selector.select(max(deadline - time.monotonic(), 0.0)):
                    os.kill(self.pid, signal.SIGKILL)
            _reap(self.pid)
            self.pid = None

    def _felt(self) -> None:
        if self._pulse is not None and not self._pulse.feel(time.monotonic()):
            self._forget(self._pulse.fd)

    def _forget(self, fd: int) -> None:
        if self._watched_by is not None and fd in self._watched_by.get_map():
            self._watched_by.unregister(fd)

    def _over(self) -> None:
        """It has ended. Raises LaunchError when there is no point in asking for it again, like `look`."""
        pid, pulse = self.pid, self._pulse
        if pid is None or pulse is None:
            return
        status = _reap(pid)
        pulse.feel(time.monotonic())
        for fd in (self._pidfd, pulse.fd):
            self._forget(fd)
        os.close(self._pidfd)
        pulse.close()
        self.pid = self._pulse = None
        self._ended(self.number, pid)
        if -status in TOLD_TO_STOP:
            self.due = time.monotonic()
            log.info("worker.stopped", worker=self.number)
            return
        self._failed(f"it ended {ending(status)}", 0.0 if pulse.last is None else pulse.last - self._began)

    def _failed(self, how: str, lived_s: float) -> None:
        self._failures = max(self._failures - lived_s / SUCCESS_S, 0.0) + 1
        if self._failures >= MOST_FAILURES:
            told = (
                f"serving process {self.number} does not stay up: {MOST_FAILURES} failures, and the last time"
            )
            raise LaunchError("serving_failed", f"{told} {how}")
        pause = 0.0
        if self._failures >= 2:
            pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** (self._failures - 2))
        self.due = time.monotonic() + pause
        log.error("worker.failed", worker=self.number, reason=how, restart_in_s=round(pause, 2))


class Workers:
    """All of them."""

    def __init__(self, count: int, ask: Ask, ended: Callable[[int, int], object]) -> None:
        """`ended` is told the number and the pid of each that has ended."""
        self._all = [Worker(number, ask, ended) for number in range(count)]
        self._looked = time.monotonic()

    def begin(self) -> None:
        for worker in self._all:
            worker.begin()

    def watch(self, selector: selectors.BaseSelector) -> None:
        """What is registered there is called when there is something; it may raise LaunchError."""
        for worker in self._all:
            worker.watch(selector)

    @property
    def pids(self) -> list[int]:
        return [worker.pid for worker in self._all if worker.pid is not None]

    def pause(self) -> float:
        """How long nothing needs to be looked after."""
        now = time.monotonic()
        dues = [max(worker.due - now, 0.0) for worker in self._all if worker.due is not None]
        return min([LOOKS_EVERY_S, *dues])

    def look(self) -> None:
        """Start those that are due, kill those that hang."""
        now = time.monotonic()
        was_away, self._looked = now - self._looked > HANGS_S / 2, now
        for worker in self._all:
            worker.look(now, was_away)

    def stop(self, within_s: float) -> None:
        """Tell all to end, and kill those that take too long."""
        for pid in self.pids:
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + within_s
        for worker in self._all:
            worker.end(deadline)


def _reap(pid: int) -> int:
    """How our child ended, as subprocess would say it; waits for that."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
