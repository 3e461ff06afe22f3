"""The process tree of a server, with real processes: how it starts, and that nothing of it is left."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.actors.processes import loopback
from antiphon.actors.processes.keeper import HANGS_S
from antiphon.actors.processes.workers import MOST_FAILURES
from bench.ports import free_port

from .server_process import ServerProcess, eventually, is_alive, running_server


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def server(port: int, tmp_path: Path) -> Iterator[ServerProcess]:
    with running_server(port, tmp_path) as running:
        yield running


@pytest.mark.parametrize(
    "killed",
    [("launcher",), ("launcher", "serving"), ("launcher", "forks"), ("admin",), ("admin", "launcher")],
)
def test_whatever_is_killed_nothing_is_left_and_the_next_start_works(
    server: ServerProcess, killed: tuple[str, ...], port: int, tmp_path: Path
) -> None:
    pids = {
        "launcher": server.launcher.pid,
        "serving": server.serving_pid,
        "forks": server.fork_server_pid,
        "admin": server.admin_pid,
    }
    for name in killed:
        os.kill(pids[name], signal.SIGKILL)

    eventually(server.all_gone, within_s=2, what="every process of the server is gone")
    with running_server(port, tmp_path) as again:
        assert again.ask() is not None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_told_to_stop_it_ends_in_order_and_leaves_nothing(
    server: ServerProcess, number: signal.Signals, tmp_path: Path
) -> None:
    server.launcher.send_signal(number)

    assert server.launcher.wait(5) == 0
    assert server.all_gone()
    assert not list(tmp_path.glob("antiphon-*"))


def test_it_fails_when_the_actor_system_dies(server: ServerProcess) -> None:
    os.kill(server.admin_pid, signal.SIGKILL)

    assert server.launcher.wait(5) == 1


def test_a_serving_process_that_dies_is_started_again_and_nobody_is_refused_meanwhile(
    server: ServerProcess,
) -> None:
    stage, killed = server.stage_pid, server.serving_pid
    os.kill(killed, signal.SIGKILL)
    eventually(lambda: not is_alive(killed), within_s=2, what="the serving process is dead")

    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        about = json.loads(connection.makefile().read())

    assert about["pid"] != killed
    assert server.stage_pid == stage
    server.everything.append(about["pid"])
    server.launcher.send_signal(signal.SIGTERM)
    assert server.launcher.wait(5) == 0
    assert server.all_gone()


def test_a_server_whose_serving_process_fails_again_and_again_gives_up_and_says_so(
    port: int, tmp_path: Path
) -> None:
    started = subprocess.run(
        [
            sys.executable,
            str(Path(__file__).with_name("launch_server.py")),
            str(port),
            str(tmp_path),
            "fails",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
    )

    assert started.returncode == 1
    said = f"serving_failed: serving process 0 does not stay up: {MOST_FAILURES} failures"
    assert f"{said}, and the last time it ended with status 7" in started.stderr
    assert not list(tmp_path.glob("antiphon-*"))


def test_a_service_manager_is_told_that_it_is_ready_alive_and_stopping(port: int, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(10)
        with running_server(port, tmp_path, NOTIFY_SOCKET=str(tmp_path / "notify")) as server:
            assert [manager.recv(64) for _ in range(3)] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
            environment = Path(f"/proc/{server.serving_pid}/environ").read_bytes()
            assert b"NOTIFY_SOCKET" not in environment
            server.launcher.send_signal(signal.SIGTERM)
            told = manager.recv(64)
            while told == b"WATCHDOG=1":
                told = manager.recv(64)
            assert told == b"STOPPING=1"
            assert server.launcher.wait(10) == 0


def test_no_process_listens_for_other_hosts(server: ServerProcess) -> None:
    listening = loopback.listeners(server.everything)

    assert len({found.port for found in listening}) >= 4  # ours, the Admin's, the logger's, the stage's
    assert loopback.off_loopback(server.everything) == []


def test_no_actor_holds_the_servers_socket(server: ServerProcess, port: int) -> None:
    holders = {found.pid for found in loopback.listeners(server.everything) if found.port == port}

    assert holders == {server.launcher.pid, server.serving_pid}


def test_a_stage_that_dies_is_started_again(server: ServerProcess) -> None:
    before, killed = server.hello(), server.stage_pid
    assert before is not None
    os.kill(killed, signal.SIGKILL)
    eventually(lambda: not is_alive(killed), within_s=2, what="the stage is dead")

    after = eventually(server.hello, within_s=5, what="the stage is back")

    assert after.descriptor.engine != before.descriptor.engine
    assert is_alive(server.serving_pid)


def test_a_stage_that_hangs_is_killed_and_started_again(server: ServerProcess) -> None:
    hangs = server.stage_pid
    os.kill(hangs, signal.SIGSTOP)

    eventually(lambda: not is_alive(hangs), within_s=HANGS_S + 4, what="the stage that hangs is killed")
    eventually(server.hello, within_s=5, what="another has taken its place")

    said = (server.directory / "launcher.log").read_text()
    assert "stage.hangs" in said


def test_a_serving_process_that_is_told_to_stop_has_not_failed(server: ServerProcess) -> None:
    stopped = server.serving_pid
    os.kill(stopped, signal.SIGTERM)
    eventually(lambda: not is_alive(stopped), within_s=5, what="the serving process has stopped")
    about = eventually(server.ask, within_s=5, what="another has taken its place")

    assert about["pid"] != stopped
    said = (server.directory / "launcher.log").read_text()
    assert "worker.stopped" in said
    assert "worker.failed" not in said


def test_the_serving_process_gets_its_settings_and_the_stages_sockets(server: ServerProcess) -> None:
    about = server.ask()

    assert about is not None
    assert about["settings"] == {"greeting": "hello"}
    assert list(about["stages"]) == ["echo"]


def test_the_sockets_of_a_killed_server_are_cleared_away_by_the_next(
    server: ServerProcess, port: int, tmp_path: Path
) -> None:
    stale = next(tmp_path.glob("antiphon-*"))
    assert stale.stat().st_mode & 0o777 == 0o700
    server.launcher.kill()
    eventually(server.all_gone, within_s=2, what="every process of the server is gone")
    assert stale.exists()

    with running_server(port, tmp_path):
        assert not stale.exists()


def test_a_port_in_use_is_said_before_anything_is_started(port: int, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        started = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("launch_server.py")), str(port), str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )

    assert started.returncode == 1
    assert f"address_unavailable: cannot listen on 127.0.0.1 port {port}" in started.stderr
