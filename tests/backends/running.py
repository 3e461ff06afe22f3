"""Chat servers for tests, each a process of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[2]


class Backend:
    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"

    def asked(self) -> list[dict[str, Any]]:
        """The requests so far (the scripted server only)."""
        with httpx.Client(trust_env=False) as client:
            told: list[dict[str, Any]] = client.get(self.url).json()
        return told


@contextlib.contextmanager
def backend(module: str = "scripted_chat") -> Iterator[Backend]:
    command = [sys.executable, "-m", f"tests.backends.{module}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None
        yield Backend(int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()
