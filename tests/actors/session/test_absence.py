"""A stage whose process dies and comes back: the session goes on."""

from __future__ import annotations

from typing import Any

from antiphon.actors.session import commands as c
from antiphon.actors.session import effects as e
from antiphon.actors.session.timers import timers
from antiphon.events.vocabulary import (
    ConfigRefused,
    EffectFailed,
    ResponseCreated,
    ResponseEnded,
    SessionConfigured,
    SessionFailed,
    StageAway,
    StageRefused,
    StageReturned,
    UnitRefused,
    UnitSubmitted,
)

from .duplex import UNIT_MS, Asked, InUnits
from .given import SILENCE, Talk, pcm

AWAY = c.RecordStage(stage="model", what="away", message="killed")
BACK = c.RecordStage(stage="model", what="returned")


def asked(**how: Any) -> Talk:
    """The user has said something that is understood, and the model is asked."""
    talk = Talk(**how)
    talk.utterance("hello")
    return talk


def kinds(happened: list[Any]) -> list[type]:
    return [type(one) for one in happened]


def test_a_model_that_had_not_begun_to_speak_is_asked_again_and_nobody_notices() -> None:
    talk = asked()
    operation = talk.active.operation
    assert kinds(talk.do(AWAY)) == [StageAway]
    assert kinds(talk.do(BACK)) == [StageReturned]
    [opened, answer] = talk.effects
    assert isinstance(opened, e.OpenStage)
    assert isinstance(answer, e.Answer)
    assert answer.operation == operation
    talk.say("I am back.", 400)
    talk.finish()
    assert [event.outcome for event in talk.all(ResponseEnded)] == ["completed"]


def test_an_answer_that_had_begun_has_failed_and_what_was_said_counts() -> None:
    talk = asked()
    talk.say("Half a", 400)
    talk.send(400)
    happened = talk.do(AWAY)
    assert kinds(happened) == [StageAway, UnitRefused, ResponseEnded]
    talk.do(BACK)
    assert kinds(talk.effects) == [e.OpenStage]
    talk.wait(500)
    assert talk.conversation[-1] == ("assistant", "Half a")
    talk.utterance("go on")
    assert talk.active.operation is not None


def test_a_call_outside_has_failed_and_is_not_repeated() -> None:
    talk = asked(must_not_repeat=True)
    assert kinds(talk.do(AWAY)) == [StageAway, UnitRefused, EffectFailed, ResponseEnded]
    talk.do(BACK)
    assert kinds(talk.effects) == [e.OpenStage]


def test_what_the_user_says_meanwhile_is_understood_afterwards() -> None:
    talk = Talk()
    talk.do(AWAY)
    talk.hear(600)
    talk.hear(900, SILENCE)
    recognitions = [event for event in talk.all(UnitSubmitted) if event.work == "recognise"]
    assert recognitions
    talk.wait(60_000)
    assert not talk.all(UnitRefused), "nobody is impatient with a stage that is away"
    talk.do(BACK)
    assert any(isinstance(effect, e.Recognise) for effect in talk.effects)
    talk.understand("hello")
    assert talk.all(ResponseCreated)


def test_the_input_of_a_unit_under_way_comes_first_again() -> None:
    talk = InUnits()
    talk.talk_for(2 * UNIT_MS)
    lost = talk.unit
    happened = talk.do(AWAY)
    assert kinds(happened)[:2] == [StageAway, UnitRefused]
    talk.do(BACK)
    again = talk.unit
    assert (again.from_sample, again.until) == (lost.from_sample, lost.until)
    assert any(isinstance(effect, e.SubmitUnit) for effect in talk.effects)


def test_a_detector_that_comes_back_hears_what_it_has_not_scored() -> None:
    talk = Talk()
    talk.hear(320)
    talk.do(c.RecordStage(stage="voice", what="away", message="killed"))
    talk.do(c.AppendAudio(pcm=pcm(320)))
    assert talk.state.config.turn_detection is not None
    talk.do(c.RecordStage(stage="voice", what="returned"))
    assert kinds(talk.effects) == [e.OpenStage, e.HearAgain]


def test_a_stage_that_was_given_up_is_not_waited_for_again() -> None:
    talk = Talk()
    talk.lose("voice")
    assert talk.do(c.RecordStage(stage="voice", what="away", message="killed")) == []
    assert talk.do(c.RecordStage(stage="voice", what="returned")) == []
    assert talk.state.holding == {"model"}


def test_a_new_writer_opens_a_stage_that_was_away() -> None:
    talk = asked()
    talk.do(AWAY)
    talk.open_writer()
    opened = [effect.stage for effect in talk.effects if isinstance(effect, e.OpenStage)]
    assert sorted(opened) == ["model", "voice"]
    assert "absence" not in timers(talk.state)


def test_after_the_end_a_stage_may_go_and_its_return_is_nothing() -> None:
    talk = Asked()
    talk.do(c.CloseSession(reason="client"))
    assert kinds(talk.do(AWAY)) == [StageAway]
    assert talk.do(BACK) == []


# --- stages that do not take a session in -----------------------------------------------------------------


def unopened(stage: Any) -> Talk:
    """The other stage has taken the session in."""
    talk = Talk()
    talk.open_writer()
    other: Any = "voice" if stage == "model" else "model"
    talk.do(c.RecordStage(stage=other, what="opened", engine="scripted"))
    return talk


def test_a_model_that_does_not_take_the_session_in_fails_it() -> None:
    talk = unopened("model")
    assert talk.wait(29_999) == []
    [failed] = talk.wait(1)
    assert isinstance(failed, SessionFailed)
    assert failed.code == "stage_timeout"


def test_without_its_detector_a_session_goes_on_without_server_vad() -> None:
    talk = unopened("voice")
    assert kinds(talk.wait(30_000)) == [StageRefused, ConfigRefused, SessionConfigured]
    assert talk.state.phase == "open"


def test_a_stage_that_is_back_has_its_time_again() -> None:
    talk = Talk()
    talk.do(AWAY)
    talk.wait(60_000)
    talk.do(BACK)
    assert talk.wait(29_999) == []
    talk.do(c.RecordStage(stage="model", what="opened", engine="scripted"))
    assert talk.wait(60_000) == []
