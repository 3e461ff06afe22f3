"""A server as systemd would keep it: whatever ends it, it is started again (Restart=always)."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from antiphon.actors.processes.fork_server import FORK_SERVER, SERVING_PROCESS
from bench.ports import free_port
from bench.processes import name, tree

RESTART_S = 0.1
GONE_S = 10.0
"""How long what a dead launcher left behind may take to end by itself. systemd would kill it at once."""
_MARK = "ANTIPHON_CHAOS"


class Service:
    """`antiphon serve`, started again by a thread of its own. Every process that it has ever had can be told
    by a mark in its environment."""

    def __init__(self, data: Path, said: Path, *arguments: str) -> None:
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.url = f"ws://127.0.0.1:{self.port}"
        self.starts = 0
        self.orphans: list[str] = []
        """Processes that outlived their launcher by GONE_S: their state and what they run."""
        self._mark = f"{_MARK}={secrets.token_hex(8)}"
        self._command = self.command(data, arguments)
        self._said = said.open("ab")
        self._stopping = False
        self._launcher = self._start()
        self._keeping = threading.Thread(target=self._keep, name="service", daemon=True)
        self._keeping.start()

    def command(self, data: Path, arguments: Sequence[str]) -> list[str]:
        serve = [sys.executable, "-m", "antiphon.cli", "serve", "--port", str(self.port)]
        return [*serve, "--data", str(data), *arguments]

    # --- its processes ------------------------------------------------------------------------------------

    @property
    def everything(self) -> list[int]:
        """The launcher first; nothing while it is being started again."""
        return tree(self._launcher.pid) if self._launcher.poll() is None else []

    @property
    def launcher(self) -> list[int]:
        return self.everything[:1]

    @property
    def serving(self) -> list[int]:
        return [pid for pid in self.everything[1:] if name(pid) == SERVING_PROCESS]

    @property
    def fork_server(self) -> list[int]:
        return [pid for pid in self.everything[1:] if name(pid) == FORK_SERVER]

    def stage(self, name: str) -> list[int]:
        """The process that writes that stage's diagnostics."""
        return [pid for pid in self.everything[1:] if _output_of(pid).endswith(f"/stage-{name}.log")]

    @property
    def admin(self) -> list[int]:
        """thespian's: the launcher's child that serves nobody."""
        others = {*self.serving, *self.fork_server}
        return [pid for one in self.launcher for pid in _children(one) if pid not in others]

    def marked(self) -> list[int]:
        """Whatever lives and was ever started for it."""
        mark, found = self._mark.encode(), []
        for entry in os.listdir("/proc"):
            if entry.isdecimal() and mark in _read(int(entry), "environ"):
                found.append(int(entry))
        return found

    # --- keeping it up ------------------------------------------------------------------------------------

    def stop(self) -> int:
        """Tell it to stop, as systemd does: its exit code. What is left then is an orphan."""
        self._stopping = True
        self._launcher.terminate()
        code = self._launcher.wait(30)
        self._keeping.join()
        self._said.close()
        return code

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        variable, _, value = self._mark.partition("=")
        return subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=self._said,
            env={**os.environ, variable: value},
        )

    def _keep(self) -> None:
        while True:
            self._launcher.wait()
            self._end_what_is_left()
            if self._stopping:
                return
            time.sleep(RESTART_S)
            self._launcher = self._start()

    def _end_what_is_left(self) -> None:
        deadline = time.monotonic() + GONE_S
        while (left := self.marked()) and time.monotonic() < deadline:
            time.sleep(0.02)
        for pid in left:
            self.orphans.append(_described(pid))
            kill(pid)
        while self.marked() and time.monotonic() < deadline + GONE_S:
            time.sleep(0.02)


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    """A process that may be gone already."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _children(pid: int) -> list[int]:
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        found += [int(child) for child in _read(pid, f"task/{thread}/children").split()]
    return found


def _described(pid: int) -> str:
    state = _read(pid, "stat").rpartition(b")")[2].split()[:1]
    told = b" ".join([*state, _read(pid, "cmdline").replace(b"\0", b" "), _output_of(pid).encode()])
    return f"process {pid} is left: {told.decode('utf-8', 'replace')}"


def _output_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return os.path.realpath(f"/proc/{pid}/fd/1")
    return ""


def _read(pid: int, what: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return b""
