"""The thinker on vLLM with a stub in vLLM's place: how it gets ready, and who is told when the engine is of no
more use."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from antiphon.actors.stages.minicpmo.drawing import Drawing
from antiphon.actors.stages.minicpmo.thinker import Append, SegmentEnded, ThinkerDied
from antiphon.actors.stages.vllm_streaming import thinker as module
from antiphon.actors.stages.vllm_streaming.options import Options
from antiphon.actors.stages.vllm_streaming.thinker import VllmThinker
from tests.stages.vllm_stub import STOP, StubVllm

LONG_ENOUGH_S = 30.0
Started = Callable[..., tuple[VllmThinker, StubVllm]]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[Started]:
    made: list[VllmThinker] = []

    def start(
        places: int = 2, most_tokens: int = 20, append_timeout_s: float = 600, looks_every_s: float = 0.01
    ) -> Any:
        stub = StubVllm(places, most_tokens)

        async def instead(*_: object) -> StubVllm:
            return stub

        monkeypatch.setattr(module, "start", instead)
        monkeypatch.setattr(module, "LOOKS_EVERY_S", looks_every_s)
        options = Options(
            model="m", max_sessions=places, most_tokens=most_tokens, append_timeout_s=append_timeout_s
        )
        made.append(VllmThinker(options, progress=lambda told: None))
        return made[-1], stub

    yield start
    for thinker in made:
        thinker.stop()


class Session:
    def __init__(self, thinker: VllmThinker, key: str) -> None:
        self._thinker, self._key, self._said = thinker, key, queue.SimpleQueue[Any]()
        thinker.open(key).result(LONG_ENOUGH_S)

    def begin(self, number: int = 0) -> None:
        append = Append(
            number=number, pieces=((5, 6),), max_tokens=4, stop=frozenset((STOP,)), drawing=Drawing()
        )
        self._thinker.append(self._key, append, self._said.put)

    def last(self) -> SegmentEnded | ThinkerDied:
        while True:
            said = self._said.get(timeout=LONG_ENOUGH_S)
            if isinstance(said, SegmentEnded | ThinkerDied):
                return said

    def close(self) -> None:
        self._thinker.close(self._key).result(LONG_ENOUGH_S)


@pytest.mark.parametrize("most_tokens", [2, 8, 64])
def test_it_gets_ready_however_few_tokens_an_append_may_have(started: Started, most_tokens: int):
    thinker, _ = started(most_tokens=most_tokens)
    assert thinker.health().sessions == 0


def test_every_shape_is_warm_before_the_first_session(started: Started):
    """Kernels are compiled at their first use: in live traffic that was a stall of 9 s."""
    _, stub = started(places=20)
    batches = in_batches(stub.submitted)
    assert [len(rows) for rows in batches] == [1, 4, 16, 20]
    for rows in batches:
        rounds = list(zip(*rows.values(), strict=True))
        assert any(all(speaks(append) for append in together) for together in rounds)
        assert any(all(is_greedy(append) for append in together) for together in rounds)
        assert any(all(listens(append) for append in together) for together in rounds)
        assert {has_sound(append) for together in rounds for append in together} == {True, False}
        mixed = any(len({listens(append) for append in together}) == 2 for together in rounds)
        assert mixed == (len(rows) > 1), "some listen while others speak"


def in_batches(submitted: list[tuple[int, Append]]) -> list[dict[int, list[Append]]]:
    """The appends of each row. Where numbers begin anew another batch does."""
    batches: list[dict[int, list[Append]]] = []
    before = -1
    for row, append in submitted:
        if append.number == 0 and before != 0:
            batches.append({})
        before = append.number
        batches[-1].setdefault(row, []).append(append)
    return batches


def speaks(append: Append) -> bool:
    drawing = append.drawing
    return bool(drawing.temperature and drawing.boundary and drawing.repetition_penalty != 1)


def is_greedy(append: Append) -> bool:
    return not append.drawing.temperature and not listens(append)


def listens(append: Append) -> bool:
    return bool(append.drawing.first)


def has_sound(append: Append) -> bool:
    return any(isinstance(piece, np.ndarray) for piece in append.pieces)


def test_an_append_under_way_is_told_when_another_call_finds_the_engine_core_gone(started: Started):
    thinker, stub = started(looks_every_s=600)
    waiting, other = Session(thinker, "waiting"), Session(thinker, "other")
    stub.does = "hangs"
    waiting.begin()
    assert stub.hangs.wait(LONG_ENOUGH_S)
    stub.llm.errored = True
    with pytest.raises(ThinkerDied):
        other.begin()
    assert isinstance(waiting.last(), ThinkerDied)
    assert "ended" in thinker.health().died


def test_an_append_under_way_is_told_when_nobody_asks_for_anything(started: Started):
    thinker, stub = started()
    waiting = Session(thinker, "waiting")
    stub.does = "hangs"
    waiting.begin()
    assert stub.hangs.wait(LONG_ENOUGH_S)
    stub.llm.errored = True
    assert isinstance(waiting.last(), ThinkerDied)


def test_a_request_that_vllm_ends_by_itself_is_told_at_once(started: Started):
    thinker, stub = started()
    session = Session(thinker, "a")
    stub.does = "ends requests"
    session.begin()
    assert isinstance(session.last(), ThinkerDied)
    with pytest.raises(ThinkerDied):
        session.close()


def test_a_hang_is_found_out_without_an_error(started: Started):
    thinker, stub = started(append_timeout_s=0.2)
    one, other = Session(thinker, "a"), Session(thinker, "b")
    one.begin()
    assert isinstance(one.last(), SegmentEnded)
    stub.does = "hangs"
    other.begin()
    assert isinstance(other.last(), ThinkerDied)
    with pytest.raises(ThinkerDied, match="append of b"):
        one.begin(1)


@pytest.mark.parametrize("does", ["hangs", "releases nothing"])
def test_a_hang_during_a_close_is_found_out_and_its_place_given_to_nobody(started: Started, does: Any):
    thinker, stub = started(append_timeout_s=0.2)
    session = Session(thinker, "a")
    if does == "hangs":
        stub.does = does
        session.begin()
    else:
        session.begin()
        assert isinstance(session.last(), SegmentEnded)
        stub.does = does
    with pytest.raises(ThinkerDied, match=r"TimeoutError: .* of a#"):
        session.close()
    assert thinker.health().sessions == 1
    with pytest.raises(ThinkerDied):
        thinker.open("b")
