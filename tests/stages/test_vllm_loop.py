"""The loop that vLLM's front runs on, asked from other threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from antiphon.actors.stages.vllm_streaming import loop as module
from antiphon.actors.stages.vllm_streaming.loop import Loop

LONG_ENOUGH_S = 30.0


@pytest.fixture
def wakings(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the loop was woken for."""
    woken: list[Any] = []

    class Counting(asyncio.SelectorEventLoop):
        def call_soon_threadsafe(self, callback: Any, *arguments: Any, **how: Any) -> Any:
            woken.append(callback)
            return super().call_soon_threadsafe(callback, *arguments, **how)

    monkeypatch.setattr(module.uvloop, "new_event_loop", Counting)
    return woken


@pytest.fixture
def loop(wakings: list[Any]) -> Iterator[Loop]:
    made = Loop("test")
    yield made
    made.stop()


async def nothing() -> None: ...


def test_a_burst_of_calls_wakes_the_loop_once_and_keeps_its_order(loop: Loop, wakings: list[Any]):
    busy, free = threading.Event(), threading.Event()

    def hold() -> None:
        busy.set()
        free.wait(LONG_ENOUGH_S)

    loop.call(hold)
    assert busy.wait(LONG_ENOUGH_S)
    before, came = len(wakings), []
    for number in range(100):
        loop.call(came.append, number)
    assert len(wakings) == before + 1
    free.set()
    loop.run(nothing()).result(LONG_ENOUGH_S)
    assert came == list(range(100))


def test_what_is_run_begins_behind_what_was_called(loop: Loop):
    """A session that is closed before its first append began would leave a request that nobody reads."""
    came: list[str] = []

    async def closed() -> None:
        came.append("closed")

    for _ in range(50):
        loop.call(came.append, "begun")
        loop.run(closed()).result(LONG_ENOUGH_S)
    assert came == ["begun", "closed"] * 50


def test_a_call_that_fails_takes_no_other_with_it(loop: Loop):
    came: list[int] = []
    loop._loop.set_exception_handler(lambda *_: None)

    def fails() -> None:
        raise ValueError

    loop.call(fails)
    loop.call(came.append, 1)
    loop.run(nothing()).result(LONG_ENOUGH_S)
    assert came == [1]
