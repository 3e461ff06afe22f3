"""A server to measure: `antiphon serve` on a free port, with a data folder that is thrown away."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from bench.ports import free_port

START_S = 60.0


class ServerFailed(Exception):
    """The server did not start; the message is the end of what it said."""


class Server:
    """A running server. `pid` is its launcher's: everything else descends from it."""

    def __init__(self, stage: str, data: Path, *arguments: str, start_s: float = START_S) -> None:
        self._start_s = start_s
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.url = f"ws://127.0.0.1:{self.port}/v1/realtime"
        self._log = (data / "serve.log").open("w+b")
        command = [sys.executable, "-m", "antiphon.cli", "serve", "--stage", stage]
        self.began = time.monotonic()
        self._process = subprocess.Popen(
            [*command, "--port", str(self.port), "--data", str(data / "data"), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        self.pid = self._process.pid

    def answered(self, path: str) -> float:
        """Wait until `path` answers 200; seconds since the command was started. Raises ServerFailed."""
        with httpx.Client(trust_env=False, timeout=5) as client:
            while time.monotonic() - self.began < self._start_s:
                if self._process.poll() is not None:
                    break
                with contextlib.suppress(httpx.TransportError):
                    if client.get(self.base + path).status_code == 200:
                        return time.monotonic() - self.began
                time.sleep(0.005)
        self._log.seek(0)
        raise ServerFailed(self._log.read().decode("utf-8", "replace")[-2000:])

    def has_workers(self, count: int) -> None:
        """Wait until so many processes serve: a scrape has the figures of each. Raises ServerFailed."""
        deadline = time.monotonic() + START_S
        with httpx.Client(trust_env=False, timeout=5) as client:
            while time.monotonic() < deadline:
                page = client.get(f"{self.base}/metrics").text
                if len(re.findall(r"^antiphon_sessions_live[{ ]", page, re.MULTILINE)) >= count:
                    return
                time.sleep(0.02)
        raise ServerFailed(f"there are no {count} serving processes")

    def is_left(self) -> None:
        """Wait until no process serves a session any more. Raises ServerFailed."""
        deadline = time.monotonic() + START_S
        with httpx.Client(trust_env=False, timeout=5) as client:
            while time.monotonic() < deadline:
                page = client.get(f"{self.base}/metrics").text
                live = re.findall(r"^antiphon_sessions_live[^ ]* (\S+)", page, re.MULTILINE)
                if live and not any(map(float, live)):
                    return
                time.sleep(0.02)
        raise ServerFailed("there are still sessions")

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(20)
        self._log.close()


@contextlib.contextmanager
def serving(stage: str, *, ready: bool = True) -> Iterator[Server]:
    """A server, with every stage ready unless told otherwise; gone, with its data, after the block."""
    with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as folder:
        server = Server(stage, Path(folder))
        try:
            if ready:
                server.answered("/health")
            yield server
        finally:
            server.stop()
