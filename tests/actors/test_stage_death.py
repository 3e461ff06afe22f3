"""An engine that has died: whoever waits is told, nothing new begins, and the stage ends in bounded time."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from antiphon.actors.processes.stage_server import StageServer
from antiphon.actors.stages.contract import (
    ENGINE_DEAD,
    Close,
    EngineDied,
    Failed,
    Finished,
    Open,
    Opened,
    Output,
)
from antiphon.events.ids import Operation

from .desk_bench import Bench, NotingEngine, Writer, fence, listen, speak
from .serving_side import Serving


def two_sessions(bench: Bench) -> tuple[Writer, Writer]:
    first, second = bench.opened(), bench.writer()
    second.open(at=fence(session="other"))
    return first, second


def failures(writer: Writer) -> list[tuple[int, str]]:
    return [(said.operation, said.body.code) for said in writer.outputs if isinstance(said.body, Failed)]


def kill(bench: Bench, how: str, writer: Writer) -> None:
    """Have the engine say that it is dead."""
    if how == "said":
        bench.engine.emit(fence(), Operation(5), Failed(ENGINE_DEAD, "out of memory"), last=True)
        bench.run_posted()
        return
    bench.engine.error = EngineDied("out of memory")
    bench.engine.fail = {how}
    asked = {
        "speak": speak(9),
        "close": Close(fence(), "done"),
        "open": Open(fence(session="third"), 1, {}),
        "cancel": speak(9, 1),
    }
    writer.send(asked[how])  # type: ignore[arg-type]


@pytest.mark.parametrize("how", ["said", "speak", "close", "open", "cancel"])
def test_its_death_ends_all_work_of_all_sessions_and_nothing_new_begins(how: str) -> None:
    died: list[str] = []
    bench = Bench(on_death=died.append)
    first, second = two_sessions(bench)
    first.send(speak(5), listen(6, whole=True))
    second.send(speak(7, session="other"))

    kill(bench, how, first)
    # A closed session waits for nothing; work that a cancel has voided was told so.
    ended = {"close": set(), "cancel": {6}}.get(how, {5, 6})
    assert {(operation, ENGINE_DEAD) for operation in ended} <= set(failures(first))
    assert failures(second) == [(7, ENGINE_DEAD)]
    assert died == ["out of memory"]

    told = (len(first.told), len(second.told))
    first.send(speak(11, 1), Close(fence(), "done"))
    second.send(speak(12, session="other"))
    bench.engine.emit(fence(session="other"), Operation(7), Finished(), last=True)
    bench.run_posted()
    bench.desk.expire()
    assert (len(first.told), len(second.told)) == told
    assert died == ["out of memory"]
    assert not {11, 12} & set(bench.engine.asked)


class DeafEngine(NotingEngine):
    """Dies over the first answer; its `stop` never returns."""

    def __init__(self) -> None:
        super().__init__()
        self.stopping = threading.Event()

    def speak(self, command: Any) -> None:
        self.emit(command.fence, command.operation, Failed(ENGINE_DEAD, "the device is gone"), last=True)

    def stop(self) -> None:
        self.stopping.set()
        threading.Event().wait()


async def test_the_serving_process_is_told_of_the_death_and_then_the_connection_ends(tmp_path: Path) -> None:
    died = threading.Event()
    server = StageServer(tmp_path / "s", died=died.set)
    server.start()
    server.ready(DeafEngine())
    serving = Serving(tmp_path / "s")
    await serving.until(lambda: bool(serving.ready))
    serving.send(Open(fence(), 1, {}), speak(5))
    await serving.until(lambda: bool(serving.lost))
    serving.link.close()

    opened, failed = serving.messages
    assert isinstance(opened, Opened)
    assert isinstance(failed, Output)
    assert isinstance(failed.body, Failed)
    assert failed.body.code == ENGINE_DEAD
    await asyncio.to_thread(died.wait)
    assert (server.phase, server.detail) == ("failed", "the device is gone")


def test_a_stage_is_stopped_in_bounded_time_though_its_engine_never_ends(tmp_path: Path) -> None:
    server = StageServer(tmp_path / "s")
    engine = DeafEngine()
    server.start()
    server.ready(engine)
    server.stop(timeout_s=0.05)
    assert engine.stopping.wait(10)
