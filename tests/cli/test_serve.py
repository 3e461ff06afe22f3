"""What `antiphon serve` says of itself, and when."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import httpx

from bench.ports import free_port
from tests.serving import RunningServer

ADDRESS = "antiphon: http://127.0.0.1:"


def test_the_address_is_told_when_it_answers_there(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    server = RunningServer(
        tmp_path / "data", stage="echo", port=free_port(), arguments=(), env={}, output=writing
    )
    os.close(writing)
    try:
        with os.fdopen(reading, encoding="utf-8") as said:
            line = next(line for line in said if line.startswith(ADDRESS))
            told = line.split()[1]
            assert httpx.get(f"{told}live", trust_env=False).json() == {"status": "live"}
    finally:
        server.stop()
    assert told == f"http://127.0.0.1:{server.port}/"
    assert "(stage: echo)" in line


def test_an_address_that_is_taken_is_not_told(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port()))
        taken.listen()
        port = taken.getsockname()[1]
        server = RunningServer(tmp_path / "data", stage="echo", port=port, arguments=(), env={})
        assert server.process.wait(60) == 1
    said = server.log()
    server.stop()
    assert f"cannot listen on 127.0.0.1 port {port}" in said
    assert ADDRESS not in said
