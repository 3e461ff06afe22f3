"""`antiphon serve`: the process that owns all others.

    launcher ── serving process          executed; gets the listening socket, answers from the first second
        └────── thespian Admin           forked; parent of
                  ├── logger
                  └── one stage actor per planned stage

* The serving process starts first: it needs none of the others to answer. The launcher then lets go of the
  listening socket, before thespian forks, so that no actor ever holds it.
* All end together. Every process watches the lifeline; the launcher watches the serving process and the Admin
  and stops everything when one of them dies. A stage that dies is started again by the keeper.
* The launcher is the reaper of the whole tree, so that at its end it can make sure that nothing is left.
* thespian listens on loopback only; this is enforced by us and read back from the kernel.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from antiphon.actors.processes import loopback
from antiphon.actors.processes.lifeline import PLAN_VARIABLE, Lifeline, ServingPlan
from antiphon.actors.processes.runtime_dir import RuntimeDir

if TYPE_CHECKING:
    from antiphon.actors.processes.keeper import StageKeeper
    from antiphon.actors.processes.stage_process import StartStage

SERVING_STOP_S = 5.0
STAGES_STOP_S = 3.0
REST_STOP_S = 2.0
START_STAGE_S = 10.0
BACKLOG = 1024
SERVING, ADMIN = "serving process", "actor system"
_PR_SET_CHILD_SUBREAPER = 36


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
    serve_argv: tuple[str, ...] = (sys.executable, "-m", "antiphon.web.serve")
    env: dict[str, str] = {}
    """Added to the environment of the serving process."""


class LaunchError(Exception):
    """The server cannot run: `address_unavailable`, `actor_system_failed`, `not_on_loopback`,
    `stage_keeper_failed`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def launch(plan: LaunchPlan) -> int:
    """Run the server until it is told to stop (0) or something ends that must not (1).

    Takes over the process: signal handlers, children, thespian. Call it once, from the main thread. Raises
    LaunchError when the server cannot start; then nothing is left running.
    """
    listening = bind(plan.host, plan.port)
    return Launcher(plan, listening).run()


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

    def __init__(self, plan: LaunchPlan, listening: socket.socket) -> None:
        self._plan = plan
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._failure: LaunchError | None = None
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
                signal.signal(number, self._on_signal)
        self._lifeline = Lifeline()
        self._directory = RuntimeDir()
        with listening:
            self._serving = self._start_serving(listening)

    def run(self) -> int:
        """See `launch`."""
        # Only now, beside the starting serving process: what these import takes a tenth of a second.
        from antiphon.actors.processes.keeper import StageKeeper

        keeper: StageKeeper | None = None
        try:
            _adopt_orphans()
            system = ActorSystemOnLoopback(self._directory.path)
            keeper = StageKeeper(
                system,
                self._stage_starts(),
                stages_started=self._check_loopback,
                failed=lambda: self._fail("stage_keeper_failed", "the stages can no longer be kept running"),
            )
            keeper.start()
            died = self._watch(system.admin_pid)
            if ADMIN in died:
                keeper = None  # it cannot end the stages in order, only wait for an answer; the lifeline will
        finally:
            self._stop(keeper)
        if self._failure is not None:
            raise self._failure
        return 1 if died else 0

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        os.eventfd_write(self._wake, 1)

    def _start_serving(self, listening: socket.socket) -> subprocess.Popen[bytes]:
        plan = ServingPlan(
            listen_fd=listening.fileno(),
            lifeline_fd=self._lifeline.read_fd,
            stages={stage.name: str(self._directory.socket(stage.name)) for stage in self._plan.stages},
            settings=self._plan.settings,
        )
        # In memory and not in the environment: settings may hold keys, and environments are inherited.
        written = os.memfd_create("antiphon-plan")
        try:
            os.write(written, msgspec.json.encode(plan))
            os.lseek(written, 0, os.SEEK_SET)
            return subprocess.Popen(
                self._plan.serve_argv,
                pass_fds=(plan.listen_fd, plan.lifeline_fd, written),
                env={**os.environ, **self._plan.env, PLAN_VARIABLE: str(written)},
                # Ctrl-C in a terminal is for the launcher, which then ends the others in order.
                process_group=0,
            )
        finally:
            os.close(written)

    def _stage_starts(self) -> list[StartStage]:
        from antiphon.actors.processes.stage_process import StartStage

        return [
            StartStage(
                name=stage.name,
                engine=stage.engine,
                settings=stage.settings,
                socket_path=str(self._directory.socket(stage.name)),
                log_path=str(self._plan.data_dir / "logs" / f"stage-{stage.name}.log"),
            )
            for stage in self._plan.stages
        ]

    def _watch(self, admin_pid: int) -> set[str]:
        """Wait until told to stop (then nothing is returned) or until a process died that must not."""
        import structlog

        log = structlog.get_logger()
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake, selectors.EVENT_READ)
            for name, pid in ((SERVING, self._serving.pid), (ADMIN, admin_pid)):
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, name)
            ended = {key.data for key, _ in selector.select()}
        if None in ended:
            log.info("launcher.stopping")
            return set()
        for name in ended:
            log.error("launcher.process_died", process=name)
        return ended

    def _check_loopback(self) -> None:
        """Called by the keeper when the stages were started: stop if thespian listens for other hosts."""
        ours = set(loopback.descendants(os.getpid()))
        ours -= {self._serving.pid, *loopback.descendants(self._serving.pid)}
        exposed = loopback.off_loopback({*ours, os.getpid()})
        if exposed:
            self._fail("not_on_loopback", f"the actor system listens on {exposed[0].address}")

    def _fail(self, code: str, message: str) -> None:
        """Stop everything, from any thread; `run` raises."""
        self._failure = LaunchError(code, message)
        os.eventfd_write(self._wake, 1)

    def _stop(self, keeper: StageKeeper | None) -> None:
        """Serving process, stages, actor system, and then whatever is left; bounded at each step."""
        self._serving.terminate()
        try:
            self._serving.wait(SERVING_STOP_S)
        except subprocess.TimeoutExpired:
            self._serving.kill()
        if keeper is not None:
            keeper.stop(STAGES_STOP_S)
        self._lifeline.release()
        _end_descendants(REST_STOP_S)
        self._serving.wait()
        self._directory.remove()


class ActorSystemOnLoopback:
    """thespian's TCP system on a private port, out of other hosts' reach. Fills keeper.StageSystem."""

    def __init__(self, directory: Path) -> None:
        # thespian asks for "this host's address" in places that the bind override does not reach.
        os.environ["THESPIAN_BASE_IPADDR"] = "127.0.0.1"
        os.environ["THESPLOG_FILE"] = str(directory / "thespian.log")
        from thespian.actors import ActorSystem
        from thespian.system.transport.IPBase import IPActorAddress

        IPActorAddress.bindArgs = property(lambda address: (("127.0.0.1", address.sockname[1]),))
        port = loopback.free_port()
        self._system = ActorSystem(
            "multiprocTCPBase", {"Admin Port": port}, logDefs=_QUIET, transientUnique=True
        )
        below = loopback.descendants(os.getpid())
        admins = [found.pid for found in loopback.listeners(below) if found.port == port]
        if not admins:  # somebody took the port between our look and thespian's, and it talks to them
            raise LaunchError("actor_system_failed", f"port {port} belongs to another actor system")
        self.admin_pid = admins[0]

    def start_stage(self, start: StartStage) -> int | None:
        from thespian.actors import ActorExitRequest, ActorSystemException

        from antiphon.actors.processes.stage_actor import StageActor

        try:
            address = self._system.createActor(StageActor)
            status = StageActor.status_of(self._system.ask(address, start, START_STAGE_S))
            if status is None:  # late or deaf: it must not load its models beside the next one
                self._system.tell(address, ActorExitRequest())
                return None
        except ActorSystemException:
            return None
        return int(status.pid)

    def shut_down(self) -> None:
        self._system.shutdown()


_QUIET = {"version": 1, "disable_existing_loggers": False}
"""Our processes log through structlog; what thespian says of itself is in THESPLOG_FILE."""


def _adopt_orphans() -> None:
    """Make this process the parent of descendants that lose theirs, such as the daemonised Admin."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


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
