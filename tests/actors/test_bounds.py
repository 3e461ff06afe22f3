"""Whatever waits for somebody is bounded, and beyond the bound something is said: between the processes."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from antiphon.actors.desk import desk
from antiphon.actors.hosted import Hosted
from antiphon.actors.link import codec, serving_end
from antiphon.actors.link.codec import Hello, WindowFull, encode, encode_one
from antiphon.actors.link.queue import LONG
from antiphon.actors.processes import stage_server
from antiphon.actors.processes.stage_server import StageServer
from antiphon.actors.stages.contract import Acknowledge, Listen, Open, Refused, Said, StageCommand
from antiphon.actors.stages.echo.engine import EchoEngine
from antiphon.events.ids import Operation

from .desk_bench import SESSION, Bench, fence, listen, speak
from .serving_side import Serving

PIECE = bytes(256 * 1024)


def heavy(operation: int) -> Listen:
    return Listen(fence(), Operation(operation), operation, PIECE)


def test_a_serving_process_that_does_not_read_is_left_by_the_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage_server, "BACKLOG_LIMIT", 1024 * 1024)
    server = StageServer(tmp_path / "s")
    server.start()
    server.ready(EchoEngine({}))
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.settimeout(20)
        deaf.connect(str(tmp_path / "s"))
        with pytest.raises(ConnectionError):
            _ask_for_ever(deaf)
    server.stop(2)


def _ask_for_ever(deaf: socket.socket) -> None:
    deaf.sendall(encode([Open(fence(), 1, {}), *map(heavy, range(1, codec.WINDOW))]))
    while True:  # what is asked after the end is answered with an error
        deaf.sendall(encode_one(Acknowledge(SESSION, 0)))


async def test_a_stage_that_does_not_read_is_left_by_the_serving_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_end, "BACKLOG_LIMIT", 1024 * 1024)
    greeting = encode([Hello(codec.LINK_VERSION, EchoEngine({}).descriptor)])
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / "s"))
        deaf.listen()
        deaf.setblocking(False)
        serving = Serving(tmp_path / "s")
        taken, _ = await asyncio.get_running_loop().sock_accept(deaf)
        with taken:
            taken.sendall(greeting)
            await serving.until(lambda: bool(serving.ready))
            serving.send(Open(fence(), 1, {}))
            for operation in range(1, codec.WINDOW):
                if not serving.lost:
                    serving.send(heavy(operation))
                    await asyncio.sleep(0)
            await serving.until(lambda: bool(serving.lost))
        serving.link.close()


def test_a_session_whose_outputs_are_large_and_not_acknowledged_is_let_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(desk, "RETAINED_BYTES_HARD", 10 * len(PIECE))
    bench = Bench()
    writer = bench.opened()
    writer.send(speak(1))
    for _ in range(9):
        bench.engine.emit(fence(), Operation(1), Said(pcm=PIECE))
    bench.run_posted()
    assert len(bench.desk) == 1

    bench.engine.emit(fence(), Operation(1), Said(pcm=PIECE))
    bench.run_posted()
    assert isinstance(writer.told[-1], Refused)
    assert writer.told[-1].code == "unacknowledged"
    assert len(bench.desk) == 0


class Stage:
    """A way to a stage: takes as much as it has credit for."""

    def __init__(self, credit: int) -> None:
        self.credit = credit
        self.taken: list[StageCommand] = []

    def send(self, command: StageCommand) -> None:
        if not isinstance(command, Acknowledge):
            if not self.credit:
                raise WindowFull("no credit")
            self.credit -= 1
        self.taken.append(command)


async def test_a_client_is_not_read_from_while_its_stage_or_its_log_is_behind() -> None:
    stage = Stage(credit=2)
    hosted = Hosted(SESSION, None, None, lambda message: None, {"model": stage.send})
    queue = hosted.queues["model"]
    for operation in range(1, 2 + LONG):
        queue.put(listen(operation))
    assert not hosted.behind
    queue.put(listen(2 + LONG))
    assert hosted.behind

    relieved = asyncio.create_task(hosted.relieved())
    await asyncio.sleep(0)
    assert hosted.held
    stage.credit = 1
    queue.put(Acknowledge(SESSION, 1))
    assert not hosted.behind
    hosted.relieve()
    await asyncio.wait_for(relieved, 1)

    hosted.wait_for_log(True)
    assert hosted.behind
    relieved = asyncio.create_task(hosted.relieved())
    await asyncio.sleep(0)
    hosted.wait_for_log(False)
    await asyncio.wait_for(relieved, 1)
    assert [command.operation for command in stage.taken if isinstance(command, Listen)] == [1, 2, 3]
