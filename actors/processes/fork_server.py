"""Where serving processes come from: one process imports what serves, and each of them is a copy of it.

    launcher ── fork server             executed; imports, and waits to be asked
        └────── serving process 0, 1, … forked by it, adopted by the launcher

* It knows no settings, so that it can be started before they are read.
* To import takes a second of a core, to fork some milliseconds: whoever takes the place of one that died is
  there at once, and does not take the core from those that serve meanwhile.
* A serving process is forked twice, so that it is the launcher's child: the launcher learns how it ended, and
  a fork server that dies takes nobody with it. It is started again, and so is one that does not answer.
* It runs one thread, no loop, and opens nothing: there is nothing that a fork would tear.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from antiphon.actors.processes.lifeline import ServingPlan

FORK_SERVER, SERVING_PROCESS = "antiphon-forks", "antiphon-serve"
"""How they are called where processes are listed (`ps -o comm`, `top`)."""
IMPORTS_S, FORKS_S = 60.0, 5.0
"""A fork server that has not answered for so long, before it has imported everything or after, is killed."""
_VARIABLE = "ANTIPHON_FORKS_FD"
_PR_SET_NAME, _PR_SET_CHILD_SUBREAPER = 15, 36


class Parent(Protocol):
    """Who asked for a serving process."""

    def born(self, pid: int) -> None:
        """It was forked, and is our child."""

    def stillborn(self, reason: str) -> None:
        """It will not be."""


class _Imported(Struct, frozen=True, tag="imported"):
    """The fork server can fork."""


class _Forked(Struct, frozen=True, tag="forked"):
    """It has."""

    worker: int
    pid: int


_DECODER = msgspec.json.Decoder(_Imported | _Forked)


class ForkServer:
    """The launcher's end. Everything here runs on the launcher's main thread."""

    def __init__(
        self,
        environment: Mapping[str, str],
        argv: Sequence[str] = (sys.executable, "-m", __name__, "antiphon.web.serve"),
    ) -> None:
        """`argv`: a program that calls `serving_plan`, such as `main`."""
        # Linear algebra is for the stages; its threads would be there when we fork.
        self._environment = {"OPENBLAS_NUM_THREADS": "1", **environment}
        self._argv = argv
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._imported = False
        self._asked: dict[int, tuple[Parent, float]] = {}
        """Number of a serving process -> who asked for it, and when."""
        self._selector: selectors.BaseSelector | None = None
        os.register_at_fork(after_in_child=self._hang_up)

    @property
    def pids(self) -> list[int]:
        """Its own, if it lives."""
        return [] if self._process is None else [self._process.pid]

    def __enter__(self) -> ForkServer:
        """Start it, and in the end, stop it. Raises OSError."""
        self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._process is not None:
            self._process.wait()

    def _begin(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._process = subprocess.Popen(
                self._argv,
                pass_fds=(theirs.fileno(),),
                env={**self._environment, _VARIABLE: str(theirs.fileno())},
                # Ctrl-C in a terminal is for the launcher, which then ends the others in order.
                process_group=0,
            )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        ours.setblocking(False)
        self._connection, self._imported = ours, False
        if self._selector is not None:
            self._selector.register(ours, selectors.EVENT_READ, self._told)

    def watch(self, selector: selectors.BaseSelector) -> None:
        """Take in what it says from now on."""
        self._selector = selector
        if self._connection is not None:
            selector.register(self._connection, selectors.EVENT_READ, self._told)

    def fork(self, plan: ServingPlan, parent: Parent) -> None:
        """Ask for the serving process of that plan. Raises OSError."""
        if self._connection is None:
            self._begin()
        assert self._connection is not None
        # In memory and not in the environment: settings may hold keys, and environments are inherited.
        written = os.memfd_create("antiphon-plan")
        try:
            os.write(written, msgspec.json.encode(plan))
            os.lseek(written, 0, os.SEEK_SET)
            socket.send_fds(self._connection, [b"fork"], [written, *plan.descriptors])
        finally:
            os.close(written)
        self._asked[plan.worker] = parent, time.monotonic()

    def look(self, now: float) -> None:
        """Kill it if it does not answer. What was asked of it is then stillborn."""
        limit_s = FORKS_S if self._imported else IMPORTS_S
        silent_s = now - min((since for _, since in self._asked.values()), default=now)
        if silent_s > limit_s and self._process is not None:
            _log().error("fork_server.hangs", pid=self._process.pid, silent_s=round(silent_s))
            self._process.kill()

    def stop(self) -> None:
        """End it: nobody is forked any more."""
        self._hang_up()
        if self._process is not None:
            self._process.terminate()

    def _told(self) -> None:
        assert self._connection is not None
        try:
            message = self._connection.recv(256)
        except BlockingIOError:
            return
        except ConnectionError:
            message = b""
        if not message:
            self._over()
            return
        match _DECODER.decode(message):
            case _Imported():
                self._imported = True
            case _Forked(worker=worker, pid=pid):
                parent, _ = self._asked.pop(worker)
                parent.born(pid)

    def _over(self) -> None:
        """It has ended. One that could serve is followed at once; one that could not, when somebody asks."""
        assert self._process is not None
        if self._selector is not None and self._connection is not None:
            self._selector.unregister(self._connection)
        self._hang_up()
        self._process.kill()  # that it hung up without having ended is not foreseen
        status, served, asked = self._process.wait(), self._imported, list(self._asked.values())
        self._process = None
        self._asked.clear()
        _log().error("fork_server.ended", reason=ending(status), imported=served)
        if served:
            try:
                self._begin()
            except OSError as error:
                _log().error("fork_server.not_started", reason=error.strerror)
        for parent, _ in asked:
            parent.stillborn(f"what was to fork it ended {ending(status)}")

    def _hang_up(self) -> None:
        """Also in whatever is forked from this process: the fork server ends when nobody holds our end."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def ending(status: int) -> str:
    """How a process ended, in words."""
    return f"by signal {-status}" if status < 0 else f"with status {status}"


def main() -> None:
    """Import the module that is named on the command line; each serving process calls its `serve(plan)`."""
    gc.disable()  # what is imported stays: looking for garbage meanwhile takes an eighth of the time
    serve = importlib.import_module(sys.argv[1]).serve
    plan = serving_plan()
    gc.enable()
    serve(plan)


def serving_plan() -> ServingPlan:
    """Become the fork server. Returns in each serving process, with its plan, and never in the caller's own,
    which exits when the launcher wants no more of them or is gone."""
    _call_it(FORK_SERVER)
    with socket.socket(fileno=int(os.environ.pop(_VARIABLE))) as launcher:
        gc.collect()
        gc.freeze()  # a collection in a serving process would otherwise write to, and so copy, all of it
        _tell(launcher, _Imported())
        while True:
            try:
                asked, received, _, _ = socket.recv_fds(launcher, 16, 5)
            except ConnectionResetError:  # it has hung up without having read what it was told
                sys.exit(0)
            if not asked:
                sys.exit(0)
            written, *descriptors = received
            with os.fdopen(written, "rb") as file:
                plan = msgspec.json.decode(file.read(), type=ServingPlan)
            pid = _fork_for_launcher()
            if pid == 0:
                _call_it(SERVING_PROCESS)
                return plan.with_descriptors(descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            _tell(launcher, _Forked(plan.worker, pid))


def adopt_orphans(yes: bool) -> None:
    """Make this process the parent of descendants that lose theirs, as serving processes and thespian's Admin
    do. Before there is a ForkServer, which counts on it."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0)


def _call_it(name: str) -> None:
    """Name this process, where processes are listed."""
    ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


def _fork_for_launcher() -> int:
    """Like os.fork, but the child's parent is the launcher once this has returned: it adopts orphans."""
    reading, writing = os.pipe()
    between = os.fork()
    if between:
        os.close(writing)
        with os.fdopen(reading, "rb") as told:
            pid = int(told.read())
        os.waitpid(between, 0)
        return pid
    os.close(reading)
    try:
        pid = os.fork()
    except OSError:
        os._exit(1)  # the server, which reads no pid, ends by that
    if pid:
        os.write(writing, b"%d" % pid)
        os._exit(0)
    os.close(writing)
    os.setpgid(0, 0)
    return 0


def _log() -> Any:
    """Importing it takes longer than all else that a launcher does before there is a fork server."""
    import structlog

    return structlog.get_logger()


def _tell(launcher: socket.socket, message: _Imported | _Forked) -> None:
    """A launcher that is gone needs to know nothing; what comes next is the end of its socket."""
    with contextlib.suppress(BrokenPipeError):
        launcher.send(msgspec.json.encode(message))


if __name__ == "__main__":
    main()
