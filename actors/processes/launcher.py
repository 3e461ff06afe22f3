"""`antiphon serve`: the process that owns all others.

    launcher ── fork server              executed; what serves is imported there, once
        ├────── serving processes        forked by it; get the listening socket, answer from the first second
        └────── thespian Admin           forked; parent of
                  ├── logger
                  └── one stage actor per planned stage

* The serving processes start first: they need none of the others to answer. The launcher keeps the listening
  socket for those that will take their place; what thespian forks closes it, so that no actor ever holds it.
* All end together. Every process watches the lifeline; the launcher watches the Admin and stops everything
  when it dies. A serving process that dies or hangs is started again (workers.py), a stage that dies by the
  keeper.
* The launcher is the reaper of the whole tree, so that at its end it can make sure that nothing is left.
* thespian listens on loopback only; this is enforced by us and read back from the kernel.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from antiphon.actors.processes import loopback
from antiphon.actors.processes.errors import LaunchError
from antiphon.actors.processes.fork_server import ForkServer, adopt_orphans
from antiphon.actors.processes.lifeline import Lifeline, ServingPlan
from antiphon.actors.processes.places import Places
from antiphon.actors.processes.runtime_dir import RuntimeDir
from antiphon.actors.processes.service_manager import ALIVE, READY, STOPPING, ServiceManager
from antiphon.actors.processes.workers import Worker, Workers

if TYPE_CHECKING:
    from antiphon.actors.processes.keeper import StageKeeper
    from antiphon.actors.processes.stage_process import StartStage

SERVING_STOP_S = 5.0
STAGES_STOP_S = 3.0
REST_STOP_S = 2.0
STUCK_S = 20.0
"""How long the actor system may take to start a stage process: usually a tenth of a second."""
BACKLOG = 1024


class StagePlan(Struct, frozen=True, kw_only=True):
    """A stage to run: its name (part of its socket's path), the engine that fills it and its settings."""

    name: str
    engine: str
    settings: dict[str, Any] = {}


class LaunchPlan(Struct, frozen=True, kw_only=True):
    """What to launch. `settings` is handed to the serving process as it is."""

    host: str = "127.0.0.1"
    port: int
    data_dir: Path
    stages: tuple[StagePlan, ...] = ()
    settings: dict[str, Any] = {}
    workers: int = 1
    """How many serving processes."""


def launch(plan: LaunchPlan, forks: ForkServer) -> int:
    """Run the server until it is told to stop (0) or something ends that must not (1).

    `forks` has been started, as early as possible: what it imports takes longer than all that we do.

    Takes over the process: signal handlers, children, thespian. Call it once, from the main thread. Raises
    LaunchError when the server cannot start, or cannot go on; then nothing is left running.
    """
    listening = bind(plan.host, plan.port)
    return Launcher(plan, listening, forks).run()


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises LaunchError if the address is in use, not ours or not allowed."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        raise LaunchError(
            "address_unavailable", f"cannot listen on {host} port {port}: {error.strerror}"
        ) from error
    return listening


class Launcher:
    """One running server."""

    def __init__(self, plan: LaunchPlan, listening: socket.socket, forks: ForkServer) -> None:
        self._plan, self._forks = plan, forks
        self._manager = ServiceManager(os.environ)
        adopt_orphans(True)
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._failure: LaunchError | None = None
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
                signal.signal(number, self._on_signal)
        self._listening = listening
        os.register_at_fork(after_in_child=listening.close)
        self._lifeline = Lifeline()
        self._directory = RuntimeDir()
        self._places_fd = Places.make(plan.workers)
        self._places = Places(self._places_fd, plan.workers)
        self._workers = Workers(plan.workers, self._ask_for, self._worker_ended)
        self._workers.begin()

    def run(self) -> int:
        """See `launch`."""
        # Only now, beside the starting serving processes: what these import takes a tenth of a second.
        from antiphon.actors.processes.actor_system import ActorSystemOnLoopback
        from antiphon.actors.processes.keeper import StageKeeper

        keeper: StageKeeper | None = None
        try:
            system = ActorSystemOnLoopback(self._directory.path)
            keeper = StageKeeper(
                system,
                self._stage_starts(),
                stages_started=self._check_loopback,
                failed=lambda: self._fail("stage_keeper_failed", "the stages can no longer be kept running"),
            )
            keeper.start()
            admin_died = self._watch(system.admin_pid, keeper.stuck_s)
            if admin_died:
                keeper = None  # it cannot end the stages in order, only wait for an answer; the lifeline will
        finally:
            self._stop(keeper)
        if self._failure is not None:
            raise self._failure
        return 1 if admin_died else 0

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        os.eventfd_write(self._wake, 1)

    def _ask_for(self, worker: Worker, pulse_fd: int, again: bool) -> None:
        plan = ServingPlan(
            listen_fd=self._listening.fileno(),
            lifeline_fd=self._lifeline.read_fd,
            pulse_fd=pulse_fd,
            places_fd=self._places_fd,
            directory=str(self._directory.path),
            worker=worker.number,
            workers=self._plan.workers,
            again=again,
            stages={stage.name: str(self._directory.socket(stage.name)) for stage in self._plan.stages},
            settings=self._plan.settings,
        )
        self._forks.fork(plan, worker)

    def _worker_ended(self, number: int, pid: int) -> None:
        self._places.clear(number)
        self._directory.control_socket(number, pid).unlink(missing_ok=True)

    def _stage_starts(self) -> list[StartStage]:
        from antiphon.actors.processes.stage_process import StartStage

        return [
            StartStage(
                name=stage.name,
                engine=stage.engine,
                settings=stage.settings,
                socket_path=str(self._directory.socket(stage.name)),
                pulse_path=str(self._directory.pulse(stage.name)),
                log_path=str(self._plan.data_dir / "logs" / f"stage-{stage.name}.log"),
            )
            for stage in self._plan.stages
        ]

    def _watch(self, admin_pid: int, stuck_s: Callable[[], float]) -> bool:
        """Wait until told to stop; True: until the actor system died. Raises LaunchError when the serving
        processes cannot be kept running, or the actor system does not answer."""
        import structlog

        log = structlog.get_logger()
        stop, admin_died = object(), object()
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake, selectors.EVENT_READ, stop)
            selector.register(os.pidfd_open(admin_pid), selectors.EVENT_READ, admin_died)
            self._workers.watch(selector)
            self._forks.watch(selector)
            self._manager.tell(READY)  # whoever connects from now on is answered, if not at once
            while True:
                self._manager.tell(ALIVE)
                ready = [key.data for key, _ in selector.select(self._workers.pause())]
                if stop in ready:
                    log.info("launcher.stopping")
                    return False
                if admin_died in ready:
                    log.error("launcher.process_died", process="actor system")
                    return True
                for call in ready:
                    call()
                self._workers.look()
                self._forks.look(time.monotonic())
                if stuck_s() > STUCK_S:
                    told = f"the actor system has not started a stage within {STUCK_S:g} s"
                    raise LaunchError("actor_system_hangs", told)

    def _check_loopback(self) -> None:
        """Called by the keeper when the stages were started: stop if thespian listens for other hosts."""
        ours = set(loopback.descendants(os.getpid()))
        for pid in (*self._workers.pids, *self._forks.pids):
            ours -= {pid, *loopback.descendants(pid)}
        found = loopback.off_loopback({*ours, os.getpid()})
        exposed = [listener for listener in found if listener.port != self._plan.port]
        if exposed:
            self._fail("not_on_loopback", f"the actor system listens on {exposed[0].address}")

    def _fail(self, code: str, message: str) -> None:
        """Stop everything, from any thread; `run` raises."""
        self._failure = LaunchError(code, message)
        os.eventfd_write(self._wake, 1)

    def _stop(self, keeper: StageKeeper | None) -> None:
        """Serving processes, stages, actor system, and then whatever is left; bounded at each step."""
        self._manager.tell(STOPPING)
        self._listening.close()
        self._forks.stop()
        self._workers.stop(SERVING_STOP_S)
        if keeper is not None:
            keeper.stop(STAGES_STOP_S)
        self._lifeline.release()
        _end_descendants(REST_STOP_S)
        self._directory.remove()


def _end_descendants(within_s: float) -> None:
    """Wait for every descendant to end by its lifeline; kill what has not ended in time."""
    deadline = time.monotonic() + within_s
    while left := loopback.descendants(os.getpid()):
        if time.monotonic() > deadline:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return
        time.sleep(0.01)
