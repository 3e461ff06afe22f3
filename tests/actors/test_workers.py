"""How serving processes are kept, with real processes that do nothing but beat in their place."""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.actors.processes.errors import LaunchError
from antiphon.actors.processes.fork_server import (
    FORK_SERVER,
    FORKS_S,
    SERVING_PROCESS,
    ForkServer,
    adopt_orphans,
)
from antiphon.actors.processes.lifeline import ServingPlan
from antiphon.actors.processes.pulse import Pulse, beat
from antiphon.actors.processes.workers import MOST_FAILURES, Worker, Workers
from bench.processes import name

from .server_process import eventually

IMPORTS = "from antiphon.actors.processes.fork_server import serving_plan; import os, signal; "
BEATS = IMPORTS + (
    "plan = serving_plan(); os.write(plan.pulse_fd, b'.'); "
    "os.write(plan.listen_fd, b'%d ' % os.getpid()); signal.pause()"
)
FAILS = IMPORTS + "raise SystemExit(serving_plan().worker + 3)"
CANNOT = "raise SystemExit(5)"


class Keeping:
    """Workers with their fork server, and the launcher's loop around them, turned by hand."""

    def __init__(self, count: int, does: str) -> None:
        self._count = count
        self.selector = selectors.DefaultSelector()
        self.ended: list[int] = []
        self._begun, self._telling = os.pipe()
        """Where each says its pid: the tests' own, in the place of the listening socket."""
        os.set_blocking(self._begun, False)
        self._told = b""
        self.workers = Workers(count, self._ask, lambda number, pid: self.ended.append(pid))
        self.forks = ForkServer(os.environ, (sys.executable, "-c", does))
        self.forks.__enter__()
        self.workers.begin()
        self.workers.watch(self.selector)
        self.forks.watch(self.selector)

    def _ask(self, worker: Worker, beating_fd: int, again: bool) -> None:
        plan = ServingPlan(
            listen_fd=self._telling,
            lifeline_fd=self._telling,
            pulse_fd=beating_fd,
            places_fd=self._telling,
            directory="",
            worker=worker.number,
            workers=2,
            again=again,
            stages={},
            settings={},
        )
        self.forks.fork(plan, worker)

    def turn(self, *, look: bool = True) -> None:
        for key, _ in self.selector.select(0.02):
            key.data()
        if look:
            self.workers.look()

    def all_beat(self) -> None:
        """Until each has shown that it is alive."""
        eventually(self._beats, within_s=10, what="all beat")

    def _beats(self) -> bool:
        self.turn()
        with contextlib.suppress(BlockingIOError):
            self._told += os.read(self._begun, 4096)
        return len(self.workers.pids) == self._count and set(self.workers.pids) <= set(
            map(int, self._told.split())
        )

    def kill(self, number: int, *pids: int) -> None:
        """Until their end has been noticed; nothing is started meanwhile."""
        for pid in pids:
            os.kill(pid, number)

        def noticed() -> bool:
            self.turn(look=False)
            return set(pids) <= set(self.ended)

        eventually(noticed, within_s=10, what="their end was noticed")

    def end(self) -> None:
        self.workers.stop(5)
        self.forks.__exit__()
        os.close(self._begun)
        os.close(self._telling)


@pytest.fixture(autouse=True)
def adopting() -> Iterator[None]:
    adopt_orphans(True)
    yield
    adopt_orphans(False)


@pytest.fixture
def two() -> Iterator[Keeping]:
    keeping = Keeping(2, BEATS)
    keeping.all_beat()
    yield keeping
    keeping.end()


def test_when_all_are_gone_all_are_there_again_without_another_import(two: Keeping) -> None:
    forks = two.forks.pids
    two.kill(signal.SIGKILL, *two.workers.pids)
    assert two.workers.pause() == 0
    two.all_beat()
    assert len(two.workers.pids) == 2
    assert two.forks.pids == forks


def test_they_are_our_own_children_and_not_the_fork_servers(two: Keeping) -> None:
    parents = {
        pid: int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        for pid in two.workers.pids
    }
    assert set(parents.values()) == {os.getpid()}
    assert [name(pid) for pid in two.workers.pids] == [SERVING_PROCESS] * 2
    assert [name(pid) for pid in two.forks.pids] == [FORK_SERVER]


def test_a_fork_server_that_is_killed_takes_nobody_with_it_and_is_there_again(two: Keeping) -> None:
    serving, forks = two.workers.pids, two.forks.pids
    os.kill(forks[0], signal.SIGKILL)
    eventually(lambda: two.turn() or two.forks.pids not in ([], forks), within_s=10, what="another is there")
    assert two.workers.pids == serving
    two.kill(signal.SIGKILL, serving[0])
    two.all_beat()


def test_a_fork_server_that_does_not_answer_is_killed_and_another_does(two: Keeping) -> None:
    forks = two.forks.pids
    os.kill(forks[0], signal.SIGSTOP)
    two.kill(signal.SIGKILL, two.workers.pids[0])
    two.workers.look()
    two.forks.look(time.monotonic() + FORKS_S + 1)
    two.all_beat()
    assert two.forks.pids != forks


def test_who_is_told_to_stop_has_not_failed_however_often(two: Keeping) -> None:
    for _ in range(MOST_FAILURES + 1):
        two.kill(signal.SIGTERM, two.workers.pids[0])
        two.all_beat()
    assert len(two.workers.pids) == 2


@pytest.mark.parametrize(
    ("does", "how"),
    [(FAILS, "it ended with status 3"), (CANNOT, "what was to fork it ended with status 5")],
    ids=["a serving process", "the program that is to be forked"],
)
def test_who_fails_again_and_again_is_given_up_with_how_it_ended(does: str, how: str) -> None:
    keeping = Keeping(1, does)
    with pytest.raises(LaunchError, match=f"failures, and the last time {how}"):
        eventually(lambda: keeping.turn(), within_s=60, what="it is given up")
    keeping.end()


async def test_a_process_that_the_launcher_does_not_know_of_leaves() -> None:
    """Its fork server died before it could say that it had forked: another has been asked for in its place."""
    pulse, beating = Pulse.inherited()
    pulse.close()
    left: list[bool] = []
    await beat(beating, lambda: left.append(True))
    os.close(beating)
    assert left == [True]


def test_a_fork_server_whose_launcher_is_gone_ends_without_a_word() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        forks = subprocess.Popen(
            [sys.executable, "-c", BEATS],
            pass_fds=(theirs.fileno(),),
            env={**os.environ, "ANTIPHON_FORKS_FD": str(theirs.fileno())},
            stderr=subprocess.PIPE,
        )
    with ours:
        assert select.select([ours], [], [], 20)[0]  # it has imported everything, and says so to nobody
    assert forks.communicate(timeout=20)[1] == b""
    assert forks.returncode == 0
