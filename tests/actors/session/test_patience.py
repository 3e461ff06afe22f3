"""Stages that hang, and answers that are asked of a model which hears continuously."""

from __future__ import annotations

from antiphon.actors.session import commands as c
from antiphon.actors.session.effects import Answer, CancelStage
from antiphon.events.vocabulary import (
    EffectFailed,
    EpochAdvanced,
    InputTranscribed,
    ResponseCreated,
    ResponseEnded,
    StageOutputDropped,
    UnitRefused,
)

from .given import Talk


def test_a_model_that_never_answers_fails_its_answer_and_its_later_words_are_void() -> None:
    talk = Talk(detection=None)
    talk.do(c.CreateResponse())
    operation = talk.active.operation
    assert talk.wait(119_000) == []
    [advanced, ended] = talk.wait(2_000)
    assert isinstance(advanced, EpochAdvanced)
    assert isinstance(ended, ResponseEnded)
    assert (ended.outcome, ended.reason) == ("failed", "stage_timeout")
    assert any(isinstance(effect, CancelStage) for effect in talk.effects)
    late = c.RecordSpeech(operation=operation, index=0, epoch=0, last=False, text="Well", pcm=b"")
    assert [type(event) for event in talk.do(late)] == [StageOutputDropped]


def test_an_outside_call_that_hangs_is_recorded_as_failed() -> None:
    talk = Talk(detection=None, must_not_repeat=True)
    talk.do(c.CreateResponse())
    operation = talk.active.operation
    assert [type(event) for event in talk.wait(121_000)] == [EpochAdvanced, EffectFailed, ResponseEnded]
    assert [failed.operation for failed in talk.all(EffectFailed)] == [operation]


def test_a_model_that_goes_on_is_waited_for() -> None:
    talk = Talk(detection=None)
    talk.do(c.CreateResponse())
    for word in ("one ", "two ", "three "):
        assert talk.wait(100_000) == []
        talk.say(word, 100)
    assert not talk.all(ResponseEnded)


def test_a_recogniser_that_never_answers_costs_the_text_and_not_the_turn() -> None:
    talk = Talk()
    talk.hear(400)
    talk.hear(800, 10)
    assert not talk.all(InputTranscribed)
    talk.wait(31_000)
    assert [refused.code for refused in talk.all(UnitRefused)] == ["stage_timeout"]
    [transcribed] = talk.all(InputTranscribed)
    assert (transcribed.text, transcribed.error) == ("", "stage_timeout")
    assert talk.active.operation is not None


def test_an_answer_asked_of_a_model_that_hears_continuously_is_asked_for() -> None:
    talk = Talk(detection=None, hears="continuously")
    talk.do(c.CreateResponse())
    [asked] = [effect for effect in talk.effects if isinstance(effect, Answer)]
    assert asked.operation == talk.active.operation
    talk.say("Hello", 200)
    talk.finish()
    assert [ended.outcome for ended in talk.all(ResponseEnded)] == ["completed"]


def test_an_answer_that_such_a_model_begins_by_itself_is_not_asked_for() -> None:
    talk = Talk(detection=None, hears="continuously")
    talk.do(c.AppendAudio(pcm=b"\1\0" * 1_920))
    heard = talk.state.buffer.submitted
    talk.do(c.RecordSpeech(operation=heard, index=0, epoch=0, last=True, text="", pcm=b"\1\0" * 1_920))
    assert [created.asked for created in talk.all(ResponseCreated)] == [False]
    assert talk.active.operation is None


def test_a_piece_of_input_that_such_a_model_fails_at_is_recorded_and_not_given_again() -> None:
    talk = Talk(detection=None, hears="continuously")
    talk.do(c.AppendAudio(pcm=b"\1\0" * 1_920))
    heard = talk.state.buffer.submitted
    failed = c.RecordFailure(
        operation=heard, index=0, epoch=0, last=True, code="engine_error", message="the engine failed"
    )
    assert [type(event) for event in talk.do(failed)] == [UnitRefused]
    assert talk.do(failed) == []
    assert talk.state.turns.listened == heard


def test_a_failed_recognition_gives_up_no_input_of_a_model_that_hears_continuously() -> None:
    talk = Talk(hears="continuously")
    talk.hear(500)
    talk.hear(256, 10)
    [recognition] = talk.state.input.recognitions
    heard_before = talk.state.turns.listened
    failed = c.RecordFailure(
        operation=recognition.operation, index=0, epoch=0, last=True, code="busy", message="later"
    )
    assert UnitRefused in [type(event) for event in talk.do(failed)]
    assert talk.state.turns.listened == heard_before
