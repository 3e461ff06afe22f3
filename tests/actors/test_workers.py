"""How serving processes are kept, with real processes that do nothing but beat in their place."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from antiphon.actors.processes.errors import LaunchError
from antiphon.actors.processes.workers import MOST_FAILURES, OTHERS_FIRST_S, Workers

from .server_process import eventually

BEATS = "import os, signal, sys; os.write(int(sys.argv[1]), b'.'); signal.pause()"
FAILS = "raise SystemExit(3)"


class Keeping:
    """Workers, and the launcher's loop around them, turned by hand."""

    def __init__(self, count: int, does: str) -> None:
        self._does = does
        self.selector = selectors.DefaultSelector()
        self.ended: list[int] = []
        self.workers = Workers(count, self._start, lambda number, pid: self.ended.append(pid))
        self.workers.begin()
        self.workers.watch(self.selector)

    def _start(self, number: int, beating_fd: int, again: bool) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", self._does, str(beating_fd)]
        return subprocess.Popen(command, pass_fds=(beating_fd,), stderr=subprocess.DEVNULL)

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
        return all(worker.serves for worker in self.workers._all)

    def kill(self, number: int, *pids: int) -> None:
        """Until their end has been noticed; nothing is started meanwhile."""
        for pid in pids:
            os.kill(pid, number)

        def noticed() -> bool:
            self.turn(look=False)
            return set(pids) <= set(self.ended)

        eventually(noticed, within_s=10, what="their end was noticed")


@pytest.fixture
def two() -> Iterator[Keeping]:
    keeping = Keeping(2, BEATS)
    keeping.all_beat()
    yield keeping
    keeping.workers.stop(5)
    keeping.workers.wait()


def test_while_another_serves_the_start_of_the_next_waits(two: Keeping) -> None:
    two.kill(signal.SIGKILL, two.workers.pids[0])
    assert OTHERS_FIRST_S / 2 < two.workers.pause() <= OTHERS_FIRST_S


def test_when_none_serves_one_is_started_at_once_and_the_other_behind_it(two: Keeping) -> None:
    two.kill(signal.SIGKILL, *two.workers.pids)
    assert two.workers.pause() == 0
    two.workers.look()
    assert len(two.workers.pids) == 1
    two.all_beat()
    assert len(two.workers.pids) == 2


def test_who_is_told_to_stop_has_not_failed_however_often(two: Keeping) -> None:
    for _ in range(MOST_FAILURES + 1):
        two.kill(signal.SIGTERM, two.workers.pids[0])
        two.all_beat()
    assert len(two.workers.pids) == 2


def test_who_fails_again_and_again_is_given_up_with_how_it_ended() -> None:
    keeping = Keeping(1, FAILS)
    with pytest.raises(LaunchError, match="failures, and the last time it ended with status 3"):
        eventually(lambda: keeping.turn(), within_s=30, what="it is given up")
