"""thespian's TCP system, on a private port and out of other hosts' reach. Imported by the launcher only."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from antiphon.actors.processes import loopback
from antiphon.actors.processes.errors import LaunchError
from antiphon.actors.processes.stage_process import StartStage

START_STAGE_S = 10.0
FIND_ADMIN_S = 1.0


class ActorSystemOnLoopback:
    """thespian's TCP system on a private port, out of other hosts' reach. Fills keeper.StageSystem."""

    def __init__(self, directory: Path) -> None:
        # thespian asks for "this host's address" in places that the bind override does not reach.
        os.environ["THESPIAN_BASE_IPADDR"] = "127.0.0.1"
        os.environ["THESPLOG_FILE"] = str(directory / "thespian.log")
        from thespian.actors import ActorSystem, ActorSystemException
        from thespian.system.transport.IPBase import IPActorAddress

        IPActorAddress.bindArgs = property(lambda address: (("127.0.0.1", address.sockname[1]),))
        with loopback.reserved_port() as port:
            try:
                self._system = ActorSystem(
                    "multiprocTCPBase", {"Admin Port": port}, logDefs=_QUIET, transientUnique=True
                )
            except ActorSystemException as broken:
                raise LaunchError("actor_system_failed", f"thespian on port {port}: {broken}") from broken
            admins = _listening_below(port)
        if not admins:  # another actor system reserved the port as we did, and thespian talks to that one
            raise LaunchError("actor_system_failed", f"port {port} belongs to another actor system")
        self.admin_pid = admins[0]

    def start_stage(self, start: StartStage) -> int | None:
        from thespian.actors import ActorSystemException

        from antiphon.actors.processes.stage_actor import StageActor

        before = set(loopback.descendants(self.admin_pid))
        try:
            address = self._system.createActor(StageActor)
            status = StageActor.status_of(self._system.ask(address, start, START_STAGE_S))
        except ActorSystemException:
            status = None
        if status is not None:
            return int(status.pid)
        for pid in set(loopback.descendants(self.admin_pid)) - before:
            # Late or deaf: it must not load its models beside the next one.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return None

    def shut_down(self) -> None:
        self._system.shutdown()


_QUIET = {"version": 1, "disable_existing_loggers": False}
"""Our processes log through structlog; what thespian says of itself is in THESPLOG_FILE."""


def _listening_below(port: int) -> list[int]:
    """Our descendants that listen there. Looked for more than once: /proc cannot be read in one moment, and a
    single look may miss what is there."""
    deadline = time.monotonic() + FIND_ADMIN_S
    while True:
        below = loopback.descendants(os.getpid())
        found = [listener.pid for listener in loopback.listeners(below) if listener.port == port]
        if found or time.monotonic() > deadline:
            return found
        time.sleep(0.01)
