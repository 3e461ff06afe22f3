"""The scripted stage as a model that hears in units, and as one whose calls take time, fail or are its last."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import pytest

from antiphon.actors.stages.contract import (
    ENGINE_DEAD,
    Called,
    Cancel,
    Close,
    Closed,
    ConfigRefused,
    Configure,
    Configured,
    Consumed,
    EngineRefused,
    Failed,
    Finished,
    Listen,
    Measured,
    Opened,
    Said,
    TurnEnded,
)
from antiphon.actors.stages.scripted.engine import ScriptedEngine
from antiphon.actors.stages.scripted.files import read_script
from antiphon.actors.stages.scripted.script import Refusal, Reply, Script, say
from antiphon.actors.stages.scripted.units import Unit
from antiphon.events.ids import Operation

from .desk_bench import Bench, Writer, fence, speak

UNIT_MS = 100
SAMPLES = 24 * UNIT_MS


def on_stage(*units: Unit, **what: Any) -> tuple[Bench, Writer]:
    what = {"hears": "continuously", "unit_ms": UNIT_MS, "sees": True, **what}
    bench = Bench(ScriptedEngine(script=Script(units=units, **what)))
    return bench, bench.opened()


def unit(operation: int, epoch: int = 0, level: int = 0, **what: Any) -> Listen:
    pcm = array("h", [level] * SAMPLES).tobytes()
    return Listen(fence(epoch), Operation(operation), operation * SAMPLES, pcm, **what)


def advance(bench: Bench, ms: int) -> None:
    bench.engine.advance(ms)
    bench.run_posted()


def hear(bench: Bench, writer: Writer, *commands: Listen) -> list[object]:
    """Give the units one after the other; what was said of all of them."""
    before = len(writer.bodies)
    for command in commands:
        writer.send(command)
        advance(bench, 0)
    return writer.bodies[before:]


def test_each_unit_is_listened_to_or_spoken_over_as_the_script_says_and_later_ones_are_listened_to() -> None:
    bench, writer = on_stage(
        Unit(),
        Unit(does="speak", text="Good morning."),
        Unit(does="speak", text="Bye.", tone_ms=10, turn_ends=True),
        Unit(turn_ends=True),
    )
    listened, spoke, *ended, turn, quiet, later = hear(bench, writer, *[unit(n) for n in range(5)])
    assert listened == Consumed()
    assert isinstance(spoke, Said)
    assert (spoke.text, len(spoke.pcm)) == ("Good morning.", 2 * SAMPLES)
    assert [type(body) for body in ended] == [Said, TurnEnded, Finished]
    assert (turn, quiet, later) == (TurnEnded(), Consumed(), Consumed())
    lasts = [said.operation for said in writer.outputs if said.last]
    assert lasts == [0, 1, 2, 3, 4]


def test_what_it_says_can_tell_what_it_heard_and_saw() -> None:
    bench, writer = on_stage(*[Unit(does="speak", text="{n}: {loudest}, {images}")] * 2)
    first, second = hear(bench, writer, unit(1, level=-70), unit(2, level=9, images=(b"a", b"b")))
    assert isinstance(first, Said)
    assert isinstance(second, Said)
    assert (first.text, second.text) == ("1: 70, 0", "2: 9, 2")


def test_units_are_counted_for_each_session_by_itself() -> None:
    bench, writer = on_stage(Unit(does="speak", text="{n}"), Unit())
    other = bench.writer()
    other.open(at=fence(session="other"))
    hear(bench, writer, unit(1), unit(2))
    pcm = bytes(2 * SAMPLES)
    other.send(Listen(fence(session="other"), Operation(1), SAMPLES, pcm))
    advance(bench, 0)
    assert [type(body) for body in other.bodies] == [Said]


def test_a_forced_listen_leaves_it_no_choice() -> None:
    bench, writer = on_stage(Unit(does="speak", text="no"), Unit(does="speak", text="yes"))
    forced, free = hear(bench, writer, unit(1, force_listen=True), unit(2))
    assert forced == Consumed()
    assert isinstance(free, Said)


def test_it_takes_as_long_as_the_script_says_and_another_unit_is_busy_meanwhile() -> None:
    bench, writer = on_stage(Unit(), Unit(after_ms=20), compute_ms=80)
    writer.send(unit(1), unit(2))
    advance(bench, 79)
    assert [type(body) for body in writer.bodies] == [Failed]
    advance(bench, 1)
    assert writer.bodies[1:] == [Consumed()]
    writer.send(unit(3))
    advance(bench, 20)
    assert writer.bodies[2:] == [Consumed()]


def test_it_calls_functions_and_measures_itself() -> None:
    bench, writer = on_stage(
        Unit(does="call", name="weather", arguments='{"at":"home"}'),
        Unit(first_token_ms=30, gaps_us=(15_000, 16_400)),
    )
    called = hear(bench, writer, unit(1))
    assert called == [Called("call_1", "weather", '{"at":"home"}'), Finished()]
    measured = hear(bench, writer, unit(2))
    assert measured == [
        Measured("first_token_ms", 30),
        Measured("token_gaps_ms", 31, (15_000, 16_400)),
        Consumed(),
    ]


def test_late_output_of_a_void_unit_comes_after_the_next_one_and_reaches_nobody() -> None:
    bench, writer = on_stage(Unit(does="speak", text="late", after_ms=500, late=True), Unit(does="speak"))
    writer.send(unit(1))
    writer.send(Cancel(fence(0), fence(1)), unit(2, 1))
    advance(bench, 0)
    advance(bench, 500)
    assert [(said.operation, said.index, said.last) for said in writer.outputs] == [(2, 0, True)]
    assert bench.desk.dropped_late == 1


def test_a_word_said_twice_reaches_the_session_once() -> None:
    bench, writer = on_stage(Unit(times=2))
    assert hear(bench, writer, unit(1)) == [Consumed()]
    assert bench.desk.dropped_late == 1


def test_replies_may_come_in_another_order_than_their_questions() -> None:
    slowly = Reply(to="speak", nth=1, steps=(say(Said("slow"), after_ms=50, last=True),))
    bench, writer = on_stage(replies=(slowly, Reply(to="speak", steps=(say(Said("quick"), last=True),))))
    writer.send(speak(1), speak(2))
    advance(bench, 50)
    assert [(said.operation, said.index, said.number) for said in writer.outputs] == [(2, 0, 1), (1, 0, 2)]


def test_it_can_die_over_a_unit() -> None:
    bench, writer = on_stage(Unit(), Unit(does="die"))
    *_, failed = hear(bench, writer, unit(1), unit(2))
    assert isinstance(failed, Failed)
    assert failed.code == ENGINE_DEAD
    assert bench.desk.dead == "the script says so"


def test_it_can_hang_over_a_unit_until_that_is_void() -> None:
    bench, writer = on_stage(Unit(does="hang"))
    assert hear(bench, writer, unit(1)) == []
    advance(bench, 3_600_000)
    assert writer.bodies == []
    writer.send(Cancel(fence(0), fence(1)))
    assert hear(bench, writer, unit(2, 1)) == [Consumed()]


def test_configurations_take_time_and_may_be_refused() -> None:
    refused = Reply(to="configure", nth=2, refuses=Refusal(code="no_voice", message="there is no such voice"))
    slowly = Reply(to="configure", nth=1, takes_ms=40)
    bench, writer = on_stage(replies=(slowly, refused), confirms_config=True)
    for generation in (1, 2, 3):
        writer.send(Configure(fence(), generation, {"generation": generation}))
    assert len(bench.engine.configs) == 1
    advance(bench, 40)
    assert writer.told[1:] == [
        Configured(fence(), 1),
        ConfigRefused(fence(), 2, "no_voice", "there is no such voice"),
        Configured(fence(), 3),
    ]
    assert [config["generation"] for config in bench.engine.configs] == [1, 2, 3]


def test_opening_and_closing_take_time() -> None:
    replies = (
        Reply(to="open", takes_ms=100),
        Reply(to="close", nth=1, takes_ms=100),
    )
    bench, writer = on_stage(replies=replies, max_sessions=1)
    advance(bench, 100)
    assert [type(told) for told in writer.told] == [Opened]
    writer.send(Close(fence(), "done"))
    assert len(bench.desk) == 1
    advance(bench, 100)
    assert writer.told[1:] == [Closed(fence())]
    assert len(bench.desk) == 0


def test_units_can_be_written_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    path.write_text("""
        hears = "continuously"
        unit_ms = 100
        compute_ms = 5
        confirms_config = true
        [[replies]]
        to = "configure"
        refuses = { code = "no_voice" }
        [[units]]
        does = "listen"
        [[units]]
        does = "speak"
        text = "Good morning."
        turn_ends = true
    """)
    bench = Bench(ScriptedEngine(script=read_script(path)))
    writer = bench.opened()
    writer.send(unit(1))
    advance(bench, 5)
    writer.send(unit(2))
    advance(bench, 5)
    assert [type(body) for body in writer.bodies] == [Consumed, Said, TurnEnded, Finished]
    assert bench.desk.descriptor.unit_ms == 100


def test_units_of_a_stage_that_hears_whole_utterances_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    path.write_text("unit_ms = 100")
    with pytest.raises(EngineRefused) as refused:
        Bench(ScriptedEngine({"script": str(path)}))
    assert refused.value.code == "runtime_contract_invalid"
