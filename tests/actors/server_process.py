"""A real server as a test sees it: its processes, its port, its stage's socket; and waiting with a bound."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from antiphon.actors.link.codec import Hello, message_decoder
from antiphon.actors.processes import loopback
from antiphon.actors.processes.fork_server import FORK_SERVER, SERVING_PROCESS
from bench.processes import name

T = TypeVar("T")


def eventually(look: Callable[[], T | None], *, within_s: float, what: str) -> T:
    """What `look` finds, looked for until it finds something true."""
    deadline = time.monotonic() + within_s
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {within_s} s")
        time.sleep(0.005)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class ServerProcess:
    """A launcher, started; `everything` is filled once the whole tree runs."""

    def __init__(self, port: int, directory: Path, **environment: str) -> None:
        self.port, self.directory = port, directory
        self.began = time.monotonic()
        self._output = (directory / "launcher.log").open("ab")
        self.launcher = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("launch_server.py")), str(port), str(directory)],
            env={**os.environ, "XDG_RUNTIME_DIR": str(directory), **environment},
            stdout=self._output,
            stderr=self._output,
            stdin=subprocess.DEVNULL,
        )

    def ask(self) -> dict[str, Any] | None:
        """What the serving process says of itself; None while nobody answers."""
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", self.port), 1) as connection,
        ):
            answer: dict[str, Any] = json.loads(connection.makefile().read())
            return answer
        return None

    def hello(self) -> Hello | None:
        """The stage's greeting, if its engine is ready."""
        about = self.ask()
        if about is None:
            return None
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1)
            connection.connect(about["stages"]["echo"])
            greetings = message_decoder().feed(connection.recv(65536))
            return next((said for said in greetings if isinstance(said, Hello)), None)
        return None

    def wait_until_up(self) -> None:
        eventually(self.hello, within_s=10, what="the server and its stage are up")
        about = self.ask()
        assert about is not None
        self.serving_pid = int(about["pid"])
        self.everything = [self.launcher.pid, *loopback.descendants(self.launcher.pid)]

    @property
    def stage_pid(self) -> int:
        log = str(self.directory / "logs" / "stage-echo.log")
        stages = (
            pid
            for pid in loopback.descendants(self.launcher.pid)
            if os.path.realpath(f"/proc/{pid}/fd/1") == log
        )
        return next(stages, 0)

    @property
    def admin_pid(self) -> int:
        """The kernel gave the launcher the daemonised Admin, and it is no serving process."""
        below = loopback.descendants(self.launcher.pid)
        children = [pid for pid in below if _parent(pid) == self.launcher.pid]
        return next(pid for pid in children if name(pid) not in (FORK_SERVER, SERVING_PROCESS))

    @property
    def fork_server_pid(self) -> int:
        below = loopback.descendants(self.launcher.pid)
        return next(pid for pid in below if name(pid) == FORK_SERVER)

    def all_gone(self) -> bool:
        self.launcher.poll()
        return not any(is_alive(pid) for pid in self.everything)

    def end(self) -> None:
        """For the fixture: leave nothing behind, whatever the test did."""
        left = loopback.descendants(self.launcher.pid)
        for pid in {*left, *getattr(self, "everything", ()), self.launcher.pid}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.launcher.wait()
        self._output.close()


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@contextlib.contextmanager
def running_server(port: int, directory: Path, **environment: str) -> Iterator[ServerProcess]:
    server = ServerProcess(port, directory, **environment)
    try:
        server.wait_until_up()
        yield server
    finally:
        server.end()
