"""The scripted stage says its lines when its clock says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.actors.stages.contract import (
    Called,
    Cancel,
    Close,
    EngineRefused,
    Failed,
    Finished,
    Heard,
    Listen,
    Said,
    Scored,
)
from antiphon.actors.stages.scripted.engine import ScriptedEngine
from antiphon.actors.stages.scripted.files import read_script
from antiphon.actors.stages.scripted.script import Reply, Script, say

from .desk_bench import Bench, Writer, fence, listen, speak


def on_stage(*replies: Reply, **what: object) -> tuple[Bench, Writer]:
    bench = Bench(ScriptedEngine(script=Script(replies=replies, **what)))  # type: ignore[arg-type]
    return bench, bench.opened()


def advance(bench: Bench, ms: int) -> None:
    bench.engine.advance(ms)
    bench.run_posted()


def test_each_step_is_said_at_its_time_and_not_before() -> None:
    steps = (say(Said("one"), after_ms=50), say(Said("two"), after_ms=30), say(Finished(), last=True))
    bench, writer = on_stage(Reply(to="speak", steps=steps))
    writer.send(speak(1))

    advance(bench, 49)
    assert writer.bodies == []
    advance(bench, 1)
    assert writer.bodies == [Said("one")]
    advance(bench, 30)
    assert writer.bodies == [Said("one"), Said("two"), Finished()]


def test_the_nth_answer_may_have_its_own_script() -> None:
    general = Reply(to="speak", steps=(say(Said("again"), last=True),))
    second = Reply(to="speak", nth=2, steps=(say(Failed("engine_error", "no voice"), last=True),))
    bench, writer = on_stage(general, second)
    for operation in (1, 2, 3):
        writer.send(speak(operation))
        advance(bench, 0)

    assert writer.bodies == [Said("again"), Failed("engine_error", "no voice"), Said("again")]


def test_a_line_can_be_made_from_what_it_answers() -> None:
    def scored(command: object) -> Scored:
        assert isinstance(command, Listen)
        return Scored(command.until_sample, 512, (900,))

    bench, writer = on_stage(Reply(to="listen", steps=(say(scored, last=True),)), role="voice")
    writer.send(listen(7))
    advance(bench, 0)

    assert writer.bodies == [Scored(7, 512, (900,))]


def test_cancelled_work_falls_silent_except_for_steps_marked_late() -> None:
    steps = (
        say(Said("heard"), after_ms=10),
        say(Said("late"), after_ms=10, late=True),
        say(Finished(), last=True),
    )
    bench, writer = on_stage(Reply(to="speak", steps=steps))
    writer.send(speak(1))
    advance(bench, 10)
    writer.send(Cancel(fence(0), fence(1)))
    advance(bench, 100)

    assert writer.bodies == [Said("heard")]
    assert bench.desk.dropped_late == 1


def test_a_recognition_is_finished_across_a_cancel() -> None:
    bench, writer = on_stage(
        Reply(to="recognise", steps=(say(Heard("good morning"), after_ms=5, last=True),))
    )
    writer.send(listen(1, whole=True))
    writer.send(Cancel(fence(0), fence(1)))
    advance(bench, 5)

    assert writer.bodies == [Heard("good morning")]


def test_a_reply_said_twice_reaches_the_session_once_if_it_was_the_last() -> None:
    bench, writer = on_stage(Reply(to="speak", steps=(say(Finished(), last=True, times=2),)))
    writer.send(speak(1))
    advance(bench, 0)

    assert writer.bodies == [Finished()]
    assert bench.desk.dropped_late == 1


def test_a_call_that_raises_is_an_engine_error_to_the_session() -> None:
    _, writer = on_stage(Reply(to="speak", raises=True))
    writer.send(speak(1))

    assert [body.code for body in writer.bodies if isinstance(body, Failed)] == ["engine_error"]


def test_what_was_asked_is_noted_in_order() -> None:
    bench, writer = on_stage()
    writer.send(speak(1))
    writer.send(Cancel(fence(0), fence(1)))
    writer.send(Close(fence(), "done"))

    assert [method for method, _ in bench.engine.calls] == ["open", "speak", "cancel", "close"]


def test_a_script_can_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    path.write_text("""
        transcribes = true
        max_sessions = 2
        [[replies]]
        to = "speak"
        [[replies.steps]]
        after_ms = 50
        says = { type = "said", text = "Good morning.", tone_hz = 440, tone_ms = 10 }
        [[replies.steps]]
        says = { type = "called", call_id = "c", name = "weather" }
        [[replies.steps]]
        says = { type = "finished" }
        last = true
    """)
    script = read_script(path)
    bench = Bench(ScriptedEngine(script=script))
    writer = bench.opened()
    writer.send(speak(1))
    advance(bench, 50)

    said, called, finished = writer.bodies
    assert isinstance(said, Said)
    assert (said.text, len(said.pcm)) == ("Good morning.", 480)
    assert called == Called("c", "weather", "{}")
    assert finished == Finished()
    assert bench.desk.descriptor.max_sessions == 2


@pytest.mark.parametrize(
    "settings",
    [{"script": "/nowhere.toml"}, {"tone_hz": "high"}, {"unknown": 1}],
    ids=["file", "type", "name"],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(EngineRefused) as refused:
        ScriptedEngine(settings)
    assert refused.value.code == "bad_settings"


def test_a_script_with_a_mistake_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text('{"replies": [{"to": "speek"}]}')
    with pytest.raises(EngineRefused) as refused:
        ScriptedEngine({"script": str(path)})
    assert "$.replies[0].to" in refused.value.message
