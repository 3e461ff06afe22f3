"""A real server for tests: `antiphon serve` on a free port, with its whole process tree."""

from __future__ import annotations

import contextlib
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

from antiphon.actors.processes import loopback
from bench.ports import free_port
from bench.processes import serving_processes

START_S = 60.0


class RunningServer:
    """One `antiphon serve`. `base` is http://127.0.0.1:PORT, or https where a certificate to trust is given."""

    def __init__(
        self,
        data: Path,
        *,
        stage: str,
        port: int,
        arguments: tuple[str, ...],
        env: dict[str, str],
        output: int | None = None,
        trusted: Path | None = None,
    ) -> None:
        self.data, self.port = data, port
        self.base = f"{'http' if trusted is None else 'https'}://127.0.0.1:{port}"
        self._verify = True if trusted is None else ssl.create_default_context(cafile=str(trusted))
        self._log = (data.parent / f"serve-{port}.log").open("ab")
        command = [sys.executable, "-m", "antiphon.cli", "serve", "--stage", stage]
        self.process = subprocess.Popen(
            [*command, "--port", str(port), "--data", str(data), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output or self._log,
            stderr=output or self._log,
            env={**os.environ, **env},
        )

    def get(self, path: str, **options: Any) -> httpx.Response:
        with httpx.Client(trust_env=False, timeout=5, verify=self._verify) as client:
            return client.get(self.base + path, **options)

    def wait(self, path: str, status: int = 200, seconds: float = START_S) -> float:
        """Seconds until `path` answers with `status`."""
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}: {self.log()}")
            with contextlib.suppress(httpx.HTTPError):
                if self.get(path).status_code == status:
                    return time.monotonic() - began
            time.sleep(0.02)
        raise AssertionError(f"{path} did not answer {status} within {seconds} s: {self.log()}")

    def wait_until(self, condition: Callable[[], bool], seconds: float = 10.0) -> None:
        """Ask again until the condition holds."""
        began = time.monotonic()
        while not condition():
            if time.monotonic() - began > seconds:
                raise AssertionError(f"not so within {seconds} s: {self.log()}")
            time.sleep(0.01)

    def stage_pid(self, name: str) -> int:
        """The process of the stage "model" or "voice": the one that writes that stage's diagnostics."""
        written = str(self.data / "logs" / f"stage-{name}.log")
        below = loopback.descendants(self.process.pid)
        return next(pid for pid in below if os.path.realpath(f"/proc/{pid}/fd/1") == written)

    @property
    def serving_pid(self) -> int:
        """The process that answers clients, of a server that has one."""
        return self.serving_pids[0]

    @property
    def serving_pids(self) -> list[int]:
        """The processes that answer clients."""
        return serving_processes(self.process.pid)

    @contextlib.contextmanager
    def only(self, pid: int) -> Iterator[None]:
        """Whoever connects now is served by that process: the others are stopped meanwhile."""
        others = [other for other in self.serving_pids if other != pid]
        for other in others:
            os.kill(other, signal.SIGSTOP)
        try:
            yield
        finally:
            for other in others:
                os.kill(other, signal.SIGCONT)

    def kill(self) -> None:
        """No process of it gets to do anything more; those that are left end by themselves."""
        self.process.send_signal(signal.SIGSTOP)  # it would start another
        for pid in (*self.serving_pids, self.process.pid):
            os.kill(pid, signal.SIGKILL)
        self.process.wait(20)

    def log(self) -> str:
        return Path(self._log.name).read_text("utf-8", "replace")[-4000:]

    def stop(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(20)
        self._log.close()
        return code


@contextlib.contextmanager
def running(
    data: Path,
    *arguments: str,
    stage: str = "echo",
    env: dict[str, str] | None = None,
    port: int | None = None,
    ready: bool = True,
    output: int | None = None,
    trusted: Path | None = None,
) -> Iterator[RunningServer]:
    """A server that is ready (unless told otherwise), and that is gone afterwards."""
    server = RunningServer(
        data,
        stage=stage,
        port=port or free_port(),
        arguments=arguments,
        env=env or {},
        output=output,
        trusted=trusted,
    )
    try:
        server.wait("/health" if ready else "/live")
        yield server
    finally:
        server.stop()
