"""Who hears the user in a call that is held again: whoever was recorded, else a live voice detector."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.actors.session.commands import StageRole
from antiphon.actors.stages.contract import Engine, Listen, Scored
from antiphon.actors.stages.scripted.engine import ScriptedEngine
from antiphon.actors.stages.scripted.script import Reply, Script, Work, fixed_answer, say
from antiphon.events.errors import Erased
from antiphon.events.memory import MemoryLog
from antiphon.events.store import Scope
from antiphon.events.vocabulary import Config, SessionConfigured, TurnDetection
from antiphon.replay import sources
from antiphon.replay.rerun.backstage import Backstage
from antiphon.replay.rerun.rerun import Changes, needs_voice, rerun
from antiphon.replay.rerun.wishes import script_of
from antiphon.replay.sources import Life
from antiphon.replay.turns import Course, course_of
from tests.golden.corpus import GOLDEN

from .calls import Call, tone

WINDOW = 768
THRESHOLD = {"turn_detection.threshold_permille": 500}


def detector(permille: int) -> ScriptedEngine:
    """Finds as much speech as this in whatever it hears, and takes its time."""

    def scores(piece: Work) -> Scored:
        assert isinstance(piece, Listen)
        return Scored(piece.until_sample, WINDOW, (permille,) * (len(piece.pcm) // (2 * WINDOW)))

    reply = Reply(to="listen", steps=(say(scores, after_ms=2, last=True),))
    return ScriptedEngine(script=Script(role="voice", hears="continuously", replies=(reply,)), runs=True)


def recorded(name: str) -> Life:
    return sources.of_recording(GOLDEN / "0.2.0" / f"{name}.antiphon.zip")


def call(*, detection: TurnDetection | None = None, switched_off: bool = False) -> Call:
    """A second of sound that no detector has heard."""
    made = Call(MemoryLog(), config=Config(turn_detection=detection))
    if switched_off:
        made.say(5, SessionConfigured(config=Config(), generation=1))
    for k in range(10):
        made.hear(96 * (k + 1), tone(3 * WINDOW))
    made.hang_up(2_000)
    return made


def life(of: Call) -> Life:
    return next(sources.of_session(of.log, of.session))


def held_again(of: Life, backstage: Backstage, config: dict[str, Any] | None = None) -> Course:
    again = rerun(of, Changes(config=config or {}, backstage=backstage), code="test")
    assert not again.aborted
    return course_of(again.life)


def employed(**engines: Engine) -> Backstage:
    backstage = Backstage()
    roles: dict[str, StageRole] = {"model": "model", "voice": "voice"}
    for name, engine in engines.items():
        backstage.employ(roles[name], engine)
    return backstage


@pytest.mark.parametrize(("permille", "starts"), [(900, 1), (10, 0)])
def test_where_nobody_was_recorded_as_listening_a_live_detector_decides(permille: int, starts: int) -> None:
    """However long it takes: the recorded stage does not go on without it."""
    with employed(voice=detector(permille)) as backstage:
        assert held_again(life(call()), backstage, THRESHOLD).starts == starts


def test_recorded_scores_hold_whoever_has_listened_to_a_call_before() -> None:
    """The detector that the first call needs is deaf; the second was recorded with scores."""
    scripted = ScriptedEngine({"text": "Rome.", "transcript": "the capital"})
    with employed(model=scripted, voice=detector(10)) as backstage:
        assert held_again(life(call()), backstage, THRESHOLD).starts == 0
        after = held_again(recorded("spoken"), backstage)
    with employed(model=ScriptedEngine({"text": "Rome.", "transcript": "the capital"})) as backstage:
        alone = held_again(recorded("spoken"), backstage)
    assert after.starts == alone.starts == 1
    assert [(turn.who, turn.words) for turn in after.turns] == [
        ("user", "the capital"),
        ("assistant", "Rome."),
    ]


def test_a_detector_that_nobody_needs_has_no_part_in_a_call() -> None:
    with employed(voice=detector(900)) as backstage:
        assert held_again(life(call()), backstage).starts == 0


@pytest.mark.parametrize(
    ("made", "config", "needed"),
    [
        ({}, {}, False),
        ({}, THRESHOLD, True),
        ({"detection": TurnDetection()}, {}, True),
        ({"detection": TurnDetection(), "switched_off": True}, {}, False),
        ({"detection": TurnDetection(), "switched_off": True}, THRESHOLD, True),
    ],
)
def test_a_detector_is_needed_for_sound_that_somebody_waits_to_hear_of(
    made: dict[str, Any], config: dict[str, Any], needed: bool
) -> None:
    assert needs_voice(script_of(life(call(**made)).events()), config) is needed


def test_a_detector_is_not_needed_where_its_scores_are_recorded_or_nothing_is_said() -> None:
    assert not needs_voice(script_of(recorded("spoken").events()), THRESHOLD)
    silent = Call(MemoryLog(), config=Config(turn_detection=TurnDetection()))
    silent.hang_up(2_000)
    assert not needs_voice(script_of(life(silent).events()), {})


def test_sound_that_a_detector_needs_and_that_was_erased_is_an_error_and_no_silence() -> None:
    erased = call()
    erased.log.erase(erased.session, Scope.AUDIO)
    with employed(voice=detector(900)) as backstage:
        assert held_again(life(erased), backstage).starts == 0
        with pytest.raises(Erased):
            held_again(life(erased), backstage, THRESHOLD)


def test_a_call_that_breaks_off_leaves_its_place_to_the_next() -> None:
    answers = fixed_answer("Rome.", tone_hz=440, tone_ms=200, delay_ms=0, transcript="the capital")
    script = Script(replies=answers.replies, max_sessions=1)
    erased = recorded("spoken")
    erased.log.erase(erased.session, Scope.AUDIO, incarnation=erased.incarnation)
    with employed(model=ScriptedEngine(script=script, runs=True)) as backstage:
        with pytest.raises(Erased):
            held_again(erased, backstage)
        answered = held_again(recorded("scripted"), backstage)
    assert {turn.words for turn in answered.turns if turn.outcome == "completed"} == {"Rome."}
