"""A link and a stage over a real socket: loading, ready, lost and back, and what crosses between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import uvloop

from antiphon.actors.link.codec import WINDOW, LinkNotReady, WindowFull
from antiphon.actors.link.window import HEAVY_LIMIT
from antiphon.actors.processes.stage_server import StageServer
from antiphon.actors.stages.contract import (
    Acknowledge,
    Cancel,
    Cancelled,
    Close,
    Closed,
    Finished,
    Listen,
    Open,
    Opened,
    Said,
)
from antiphon.actors.stages.echo.engine import EchoEngine
from antiphon.actors.stages.scripted.engine import ScriptedEngine
from antiphon.actors.stages.scripted.script import Script
from antiphon.events.ids import Operation

from .desk_bench import SESSION, fence, speak
from .serving_side import Serving


@pytest.fixture
def event_loop_policy() -> uvloop.EventLoopPolicy:
    return uvloop.EventLoopPolicy()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "stage.sock"


@pytest.fixture
def server(path: Path) -> Iterator[StageServer]:
    server = StageServer(path)
    server.start()
    yield server
    server.stop(timeout_s=2)


@pytest.fixture
async def serving(path: Path, server: StageServer) -> AsyncIterator[Serving]:
    serving = Serving(path)
    yield serving
    serving.link.close()


@pytest.fixture
async def echo(serving: Serving, server: StageServer) -> Serving:
    """A link to a ready echo with the session open, on the loop that the server uses."""
    assert isinstance(asyncio.get_running_loop(), uvloop.Loop)
    server.ready(EchoEngine({}))
    await serving.until(lambda: bool(serving.ready))
    serving.send(Open(fence(), 1, {}))
    await serving.until(lambda: bool(serving.messages))
    return serving


def heard(operation: int, pcm: bytes = b"\x01\x00") -> Listen:
    return Listen(fence(), Operation(operation), operation, pcm)


async def test_a_link_waits_for_a_stage_that_is_not_there_yet(path: Path) -> None:
    serving = Serving(path)
    with pytest.raises(LinkNotReady):
        serving.send(Open(fence(), 1, {}))

    server = StageServer(path)
    server.start()
    server.ready(EchoEngine({}))
    await serving.until(lambda: bool(serving.ready))

    assert serving.link.state == "ready"
    assert serving.link.descriptor == serving.ready[0]
    assert serving.lost == []
    serving.link.close()
    server.stop(timeout_s=2)


async def test_a_loading_stage_tells_its_progress(serving: Serving, server: StageServer) -> None:
    server.loading("reading the voices")
    await serving.until(lambda: serving.link.detail == "reading the voices")

    assert serving.link.state == "loading"
    assert (server.phase, server.detail) == ("loading", "reading the voices")


async def test_a_stage_that_cannot_load_says_why(serving: Serving, server: StageServer) -> None:
    server.failed("not_installed", "engine 'cascade' needs onnxruntime")
    await serving.until(lambda: serving.link.state == "failed")

    assert serving.link.detail == "engine 'cascade' needs onnxruntime"
    with pytest.raises(LinkNotReady):
        serving.send(Open(fence(), 1, {}))


async def test_audio_goes_through_an_echo_and_comes_back_unchanged(echo: Serving) -> None:
    spoken = [bytes([number, 0]) * 1920 for number in range(20)]
    echo.send(*[heard(number, pcm) for number, pcm in enumerate(spoken)])
    await echo.until(lambda: len(echo.outputs) == 20)

    assert [output.body.pcm for output in echo.outputs if isinstance(output.body, Said)] == spoken
    assert [output.number for output in echo.outputs] == list(range(1, 21))


async def test_an_utterance_larger_than_every_buffer_arrives_whole(echo: Serving) -> None:
    spoken = bytes(range(256)) * 20_000
    echo.send(heard(1, spoken))
    await echo.until(lambda: bool(echo.outputs))

    assert echo.outputs[0].body == Said(pcm=spoken)


async def test_the_window_is_refused_before_anything_is_sent_and_reopens_with_the_log(echo: Serving) -> None:
    echo.send(*[heard(number) for number in range(WINDOW)])
    with pytest.raises(WindowFull):
        echo.send(heard(WINDOW))
    await echo.until(lambda: len(echo.outputs) == WINDOW)
    with pytest.raises(WindowFull):
        echo.send(heard(WINDOW))

    echo.send(Acknowledge(SESSION, 1), heard(WINDOW))
    await echo.until(lambda: len(echo.outputs) == WINDOW + 1)


async def test_a_cancel_gives_the_window_back_at_once(serving: Serving, server: StageServer) -> None:
    server.ready(ScriptedEngine(script=Script()))
    await serving.until(lambda: bool(serving.ready))
    serving.send(Open(fence(), 1, {}), *[speak(number) for number in range(WINDOW)])
    serving.send(Cancel(fence(0), fence(1)), speak(WINDOW, 1))
    await serving.until(lambda: any(isinstance(message, Cancelled) for message in serving.messages))

    assert isinstance(serving.messages[0], Opened)


async def test_a_scripted_stage_answers_on_the_real_clock(serving: Serving, server: StageServer) -> None:
    server.ready(ScriptedEngine({"text": "Good morning.", "tone_ms": 10, "delay_ms": 5}))
    await serving.until(lambda: bool(serving.ready))
    serving.send(Open(fence(), 1, {}), speak(1))
    await serving.until(lambda: bool(serving.outputs) and serving.outputs[-1].last)

    said, finished = (output.body for output in serving.outputs)
    assert isinstance(said, Said)
    assert (said.text, len(said.pcm)) == ("Good morning.", 480)
    assert finished == Finished()


async def test_a_lost_stage_is_said_once_and_a_new_one_is_found(path: Path) -> None:
    server = StageServer(path)
    server.start()
    server.ready(EchoEngine({}))
    serving = Serving(path)
    await serving.until(lambda: bool(serving.ready))
    server.stop(timeout_s=2)
    await serving.until(lambda: bool(serving.lost))
    with pytest.raises(LinkNotReady):
        serving.send(Open(fence(), 1, {}))

    again = StageServer(path)
    again.start()
    again.ready(EchoEngine({}))
    await serving.until(lambda: len(serving.ready) == 2)
    serving.send(Open(fence(), 1, {}))
    await serving.until(lambda: bool(serving.messages))

    assert len(serving.lost) == 1
    assert serving.ready[0].engine != serving.ready[1].engine
    assert isinstance(serving.messages[-1], Opened)
    serving.link.close()
    again.stop(timeout_s=2)


async def test_what_is_asked_before_the_session_is_opened_at_a_stage_that_came_back_is_not_refused_by_it(
    path: Path,
) -> None:
    """The session has not heard yet that the stage had gone: it would take the refusal for its end."""
    server = StageServer(path)
    server.start()
    server.ready(EchoEngine({}))
    serving = Serving(path)
    await serving.until(lambda: bool(serving.ready))
    serving.send(Open(fence(), 1, {}), heard(1))
    await serving.until(lambda: bool(serving.outputs))
    server.stop(timeout_s=2)
    again = StageServer(path)
    again.start()
    again.ready(EchoEngine({}))
    await serving.until(lambda: len(serving.ready) == 2)
    before = len(serving.messages)
    serving.send(heard(2), speak(3), Open(fence(), 2, {}), heard(2), heard(4))
    await serving.until(lambda: len(serving.outputs) == 3)

    assert isinstance(serving.messages[before], Opened)
    assert [output.operation for output in serving.outputs] == [1, 2, 4]
    serving.link.close()
    again.stop(timeout_s=2)


async def test_another_serving_process_takes_over_what_was_not_acknowledged(
    echo: Serving, path: Path
) -> None:
    echo.send(heard(1), heard(2))
    await echo.until(lambda: len(echo.outputs) == 2)
    echo.send(Acknowledge(SESSION, 1), heard(3))
    await echo.until(lambda: len(echo.outputs) == 3)

    other = Serving(path)
    await other.until(lambda: bool(other.ready))
    other.send(Open(fence(), 2, {}))
    await other.until(lambda: bool(other.outputs))
    echo.send(heard(4))
    other.send(heard(5))
    await other.until(lambda: len(other.outputs) == 3)

    assert [(output.operation, output.number) for output in other.outputs] == [(2, 2), (3, 3), (5, 4)]
    assert [output.operation for output in echo.outputs] == [1, 2, 3]
    other.link.close()


async def test_noise_ends_that_connection_and_no_other(echo: Serving, path: Path) -> None:
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(b"\xff" * 64)
    async with asyncio.timeout(5):
        while await reader.read(4096):
            pass
    writer.close()

    echo.send(heard(1))
    await echo.until(lambda: bool(echo.outputs))


async def test_a_closed_session_is_answered_and_may_be_opened_again(echo: Serving) -> None:
    echo.send(Close(fence(), "done"))
    await echo.until(lambda: isinstance(echo.messages[-1], Closed))
    echo.send(Open(fence(), 2, {}))
    await echo.until(lambda: isinstance(echo.messages[-1], Opened))


async def test_the_end_of_a_session_that_was_opened_again_meanwhile_is_not_told_to_whoever_has_it_now(
    echo: Serving,
) -> None:
    """A writer gives it up (its log cannot be written), and the next one of the same process opens it."""
    echo.send(Close(fence(), "log_unavailable"), Open(fence(), 2, {}), heard(1))
    await echo.until(lambda: bool(echo.outputs))
    assert [type(message).__name__ for message in echo.messages] == ["Opened", "Opened", "Output"]
    assert echo.link.in_flight == 1

    echo.send(Acknowledge(SESSION, 1), Close(fence(), "done"))
    await echo.until(lambda: isinstance(echo.messages[-1], Closed))


async def test_a_closed_link_takes_nothing_more(echo: Serving, server: StageServer) -> None:
    echo.link.close()
    with pytest.raises(LinkNotReady):
        echo.send(heard(9))
    server.stop(timeout_s=2)
    assert echo.lost == []


async def test_what_is_too_heavy_beside_the_rest_waits_on_this_side(echo: Serving) -> None:
    def utterance(operation: int) -> Listen:
        return Listen(fence(), Operation(operation), operation, bytes(HEAVY_LIMIT // 2), whole=True)

    echo.send(utterance(1), utterance(2))
    with pytest.raises(WindowFull):
        echo.send(utterance(3))
    await echo.until(lambda: len(echo.outputs) == 2)
    echo.send(Acknowledge(SESSION, 1), utterance(3))
    await echo.until(lambda: len(echo.outputs) == 3)
