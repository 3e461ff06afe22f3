"""The echo: every sample comes back, in order, as late as asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.actors.stages.contract import (
    Cancel,
    Consumed,
    EndTurn,
    EngineRefused,
    Failed,
    Finished,
    Listen,
    Said,
)
from antiphon.actors.stages.echo.engine import EchoEngine
from antiphon.actors.stages.registry import load_engine
from antiphon.events.ids import Operation

from .desk_bench import Bench, Writer, fence, speak


def hear(writer: Writer, bench: Bench, operation: int, pcm: bytes) -> None:
    writer.send(Listen(fence(), Operation(operation), 0, pcm))
    bench.run_posted()


@given(
    pieces=st.lists(st.binary(min_size=1, max_size=200).map(lambda raw: raw * 2), max_size=12),
    delay_ms=st.integers(0, 12),
)
def test_what_is_said_is_what_was_heard_sample_for_sample(pieces: list[bytes], delay_ms: int) -> None:
    bench = Bench(EchoEngine({"delay_ms": delay_ms}))
    writer = bench.opened()
    for number, piece in enumerate(pieces):
        hear(writer, bench, number, piece)
        assert writer.outputs[-1].operation == number
        assert writer.outputs[-1].last
    late = sum(map(len, pieces)) - sum(len(body.pcm) for body in writer.bodies if isinstance(body, Said))
    assert late == min(delay_ms * 48, sum(map(len, pieces)))

    writer.send(EndTurn(fence(), Operation(1000)))
    bench.run_posted()

    assert b"".join(body.pcm for body in writer.bodies if isinstance(body, Said)) == b"".join(pieces)
    assert writer.bodies[-1] == Finished()


def test_each_piece_has_exactly_one_answer_also_while_the_delay_fills() -> None:
    bench = Bench(EchoEngine({"delay_ms": 100}))
    writer = bench.opened()
    hear(writer, bench, 1, bytes(3840))
    hear(writer, bench, 2, bytes(3840))

    assert writer.bodies == [Consumed(), Said(pcm=bytes(7680 - 4800))]


def test_a_cancel_forgets_what_was_not_said_yet() -> None:
    bench = Bench(EchoEngine({"delay_ms": 100}))
    writer = bench.opened()
    hear(writer, bench, 1, b"\x01\x00" * 1000)
    writer.send(Cancel(fence(0), fence(1)))
    writer.send(EndTurn(fence(1), Operation(2)))
    bench.run_posted()

    assert writer.bodies[1:] == [Finished()]


def test_a_written_turn_is_answered_by_its_own_words() -> None:
    bench = Bench(EchoEngine({}))
    writer = bench.opened()
    writer.send(speak(1))
    bench.run_posted()

    assert writer.bodies == [Said(text="hello"), Finished()]
    assert not any(isinstance(body, Failed) for body in writer.bodies)


@pytest.mark.parametrize(
    "settings", [{"delay_ms": -1}, {"delay_ms": 60_001}, {"delay": 1}, {"delay_ms": "x"}]
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(EngineRefused) as refused:
        EchoEngine(settings)
    assert refused.value.code == "bad_settings"


def test_the_registry_knows_the_engine_by_name_and_refuses_others() -> None:
    assert load_engine("echo", {"max_sessions": 3}, lambda _: None).descriptor.max_sessions == 3
    with pytest.raises(EngineRefused) as refused:
        load_engine("eccho", {}, lambda _: None)
    assert refused.value.code == "unknown_engine"
    assert "echo" in refused.value.message
