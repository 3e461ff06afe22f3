"""The keeper of stages, with real processes that beat, or do not, in place of thespian's."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from antiphon.actors.processes import keeper
from antiphon.actors.processes.keeper import StageKeeper
from antiphon.actors.processes.stage_process import StartStage

from .server_process import eventually, is_alive

STAGE = """
import signal, sys
from antiphon.actors.processes.pulse import Beating
path, how = sys.argv[1:]
beating = Beating(path)
for turn in range(1000):
    beating._due = 0.0
    if how != "silent" and not (how == "falls silent" and turn > 3):
        beating.beat(busy=how == "loads")
    signal.sigtimedwait([signal.SIGUSR1], 0.02)
"""


class System:
    """A stub of the actor system: each start is a process that behaves as the next of `how` says."""

    def __init__(self, *how: str) -> None:
        self.how = [*how]
        self.started: list[subprocess.Popen[bytes]] = []
        self.answers = threading.Event()
        self.answers.set()

    def start_stage(self, start: StartStage) -> int | None:
        self.answers.wait(10)
        how = self.how.pop(0) if self.how else "beats"
        if how == "fails":
            return None
        self.started.append(subprocess.Popen([sys.executable, "-c", STAGE, start.pulse_path, how]))
        return self.started[-1].pid

    def shut_down(self) -> None:
        for process in self.started:
            process.kill()
            process.wait()


Keep = Callable[..., StageKeeper]


@pytest.fixture
def keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keep]:
    for name, seconds in {"HANGS_S": 2.0, "LOADS_S": 4.0, "LOOKS_EVERY_S": 0.02}.items():
        monkeypatch.setattr(keeper, name, seconds)
    made: list[StageKeeper] = []

    def keep(system: System) -> StageKeeper:
        start = StartStage(
            name="stage",
            engine="echo",
            settings={},
            socket_path="",
            pulse_path=str(tmp_path / "stage.pulse"),
            log_path="",
        )
        made.append(StageKeeper(system, [start], stages_started=lambda: None, failed=lambda: None))
        made[-1].start()
        return made[-1]

    yield keep
    for one in made:
        assert one.stop(10)


def test_one_that_beats_is_left_alone_and_one_that_falls_silent_is_replaced(keep: Keep) -> None:
    system = System("falls silent", "beats")
    keep(system)
    eventually(lambda: len(system.started) == 2, within_s=15, what="there is another")

    first, second = system.started
    assert first.poll() is not None or not is_alive(first.pid)
    eventually(lambda: second.poll() is None, within_s=1, what="the second lives")


@pytest.mark.parametrize("how", ["silent", "loads"])
def test_one_that_is_still_loading_has_longer(keep: Keep, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Two seconds of silence are no hang then, but four are; and loading is never too long by itself."""
    monkeypatch.setattr(keeper, "HANGS_S", 0.5)
    system = System(how)
    keep(system)
    [stage] = eventually(lambda: system.started, within_s=5, what="it is started")
    with pytest.raises(subprocess.TimeoutExpired):
        stage.wait(2.0)
    if how == "silent":
        eventually(lambda: len(system.started) == 2, within_s=15, what="there is another")


def test_starts_that_fail_are_tried_again_after_ever_longer_pauses(keep: Keep) -> None:
    system = System("fails", "fails", "beats")
    keep(system)
    eventually(lambda: system.started, within_s=10, what="the third start has worked")
    assert not system.how


def test_a_system_that_does_not_answer_is_told_from_one_that_does(keep: Keep) -> None:
    system = System()
    system.answers.clear()
    kept = keep(system)
    eventually(lambda: kept.stuck_s() > 0.2, within_s=5, what="it is stuck")
    system.answers.set()
    eventually(lambda: kept.stuck_s() == 0, within_s=5, what="it is not")
