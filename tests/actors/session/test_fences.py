"""Architecture, section 5; pains C: what is void, from when on, and who says so."""

from __future__ import annotations

import pytest

from antiphon.actors.session import commands as c
from antiphon.actors.session import effects as e
from antiphon.actors.session.refusals import NotSpeaking
from antiphon.events.ids import Operation, ResponseId
from antiphon.events.vocabulary import (
    AudioSpoken,
    EpochAdvanced,
    ResponseCreated,
    ResponseEnded,
    SpeechStarted,
    StageOutputDropped,
    TextSpoken,
    TurnDetection,
    UnitRefused,
)

from .given import SILENCE, Talk, names, only, pcm


def speaking(**how: object) -> Talk:
    """Somebody asked, and the first second of the answer is being heard."""
    talk = Talk(**how)  # type: ignore[arg-type]
    talk.do(c.CreateResponse())
    talk.say("One two three four. ", 1_000)
    talk.send(1_000)
    return talk


def test_cancelling_advances_the_epoch_in_the_log_first() -> None:
    talk = speaking()
    happened = talk.do(c.CancelResponse())
    assert names(happened) == ["EpochAdvanced", "PlaybackEstimated", "ResponseEnded"]
    assert only(ResponseEnded, happened)[0].reason == "client_cancelled"


def test_a_cancel_sent_to_a_stage_carries_the_fence_it_cancels_and_the_next_one() -> None:
    talk = speaking()
    before = talk.state.fence
    talk.do(c.CancelResponse())
    [cancel] = talk.effects
    assert cancel == e.CancelStage(before, talk.state.fence)
    assert (before.epoch, talk.state.fence.epoch, talk.state.fence.response) == (0, 1, None)


def test_whatever_still_arrives_with_the_old_epoch_becomes_stage_output_dropped() -> None:
    talk = speaking()
    operation, void = talk.active.operation, talk.state.fence.epoch
    talk.do(c.CancelResponse())
    late = {"operation": operation, "epoch": void, "last": False}
    happened = talk.do(
        c.RecordSpeech(text="five", pcm=pcm(200), index=1, **late),
        c.RecordRoute(route="model", index=2, **late),
        c.RecordFinish(why="done", index=3, **late),
    )
    assert names(happened) == ["StageOutputDropped"] * 3
    assert [dropped.index for dropped in only(StageOutputDropped, happened)] == [1, 2, 3]
    assert all(not stored.critical for stored in talk.stored[-3:])


def test_a_wire_cancel_names_the_response_that_is_speaking_or_nothing() -> None:
    talk = speaking()
    other = talk.refuses(c.CancelResponse(client_event="e", response=ResponseId("resp_other")))
    assert type(other) is NotSpeaking
    talk.do(c.CancelResponse(response=talk.active.response))
    assert talk.state.turns.active is None


def test_a_cancel_that_comes_late_is_not_applied_to_whatever_is_speaking_by_then() -> None:
    talk = speaking()
    first = talk.active.response
    talk.finish()
    talk.do(c.CreateResponse())
    talk.refuses(c.CancelResponse(response=first))
    assert talk.state.turns.active is not None


def test_cancel_before_the_first_output_ends_the_response_with_no_audio() -> None:
    """Pain 23."""
    talk = Talk()
    talk.do(c.CreateResponse())
    operation = talk.active.operation
    talk.do(c.CancelResponse())
    talk.do(c.RecordSpeech(text="I", pcm=pcm(80), operation=operation, index=0, epoch=0, last=False))
    assert [ended.outcome for ended in talk.all(ResponseEnded)] == ["cancelled"]
    assert talk.all(AudioSpoken) == []
    assert talk.conversation == []


def test_cancel_while_the_user_is_still_being_understood_never_asks_the_model() -> None:
    """Pain 23, a moment earlier."""
    talk = Talk()
    talk.hear(400)
    talk.hear(700, SILENCE)
    assert talk.active.operation is None
    talk.do(c.CancelResponse())
    assert names(talk.understand("hello")) == ["UnitCompleted", "InputTranscribed"]


def test_after_a_cancelled_response_nothing_more_is_said_of_it() -> None:
    """Pain 25."""
    talk = speaking()
    operation, response = talk.active.operation, talk.active.response
    talk.do(c.CancelResponse(), c.CreateResponse())
    for index in range(1, 4):
        talk.do(
            c.RecordSpeech(text="late", pcm=pcm(200), operation=operation, index=index, epoch=0, last=False)
        )
    ended = talk.events.index(talk.all(ResponseEnded)[0])
    after = only(AudioSpoken, talk.events[ended:]) + only(TextSpoken, talk.events[ended:])
    assert [spoken for spoken in after if spoken.response == response] == []


def test_after_a_barge_in_the_next_turn_still_has_the_history() -> None:
    """Pain 24."""
    talk = Talk()
    talk.utterance("tell me a story")
    talk.say("Once upon a time there was a fox. ", 4_000)
    talk.send(4_000)
    talk.now_ms += 2_000
    talk.hear(400)
    assert talk.state.turns.active is None
    talk.hear(256, SILENCE)
    talk.understand("a shorter one")
    talk.hear(400, SILENCE)
    roles = [role for role, _ in talk.conversation]
    assert roles == ["user", "assistant", "user"]
    assert talk.conversation[1][1].startswith("Once upon")
    assert "fox" not in talk.conversation[1][1]


def test_a_noise_of_100_ms_cancels_nothing_and_400_ms_of_speech_cancel_once() -> None:
    """Pain 21: the burst fills four windows, the speech that counts five."""
    talk = speaking(detection=TurnDetection(min_speech_ms=160))
    talk.hear(100)
    talk.hear(200, SILENCE)
    assert talk.all(EpochAdvanced) == []
    talk.hear(400)
    assert len(talk.all(EpochAdvanced)) == 1
    assert [ended.reason for ended in talk.all(ResponseEnded)] == ["turn_detected"]


def test_speech_interrupts_what_is_still_playing_after_it_was_generated() -> None:
    talk = Talk()
    talk.answer(ms=5_000)
    talk.send(5_000)
    talk.now_ms += 1_000
    happened = talk.hear(400)
    assert "EpochAdvanced" in names(happened)
    assert len(talk.all(ResponseEnded)) == 1


def test_speech_interrupts_audio_that_waits_in_the_outbox() -> None:
    talk = Talk()
    talk.answer(ms=5_000)
    assert "EpochAdvanced" in names(talk.hear(400))


def test_speech_while_no_audio_is_unplayed_truncates_nothing() -> None:
    """Pain 18."""
    talk = Talk()
    talk.answer("All of it.", 1_000)
    talk.send(1_000)
    talk.wait(1_100)
    assert "EpochAdvanced" not in names(talk.hear(400))
    assert talk.conversation == [("assistant", "All of it.")]


def test_speech_after_everything_was_acknowledged_truncates_nothing() -> None:
    """Pain 18, for clients that say what was heard."""
    talk = Talk()
    response = talk.answer("All of it.", 1_000)
    talk.send(1_000)
    talk.do(c.AcknowledgePlayback(response=response, heard_ms=1_000))
    assert "EpochAdvanced" not in names(talk.hear(400))
    assert talk.conversation == [("assistant", "All of it.")]


def test_a_client_that_asked_not_to_be_interrupted_is_not_and_its_user_is_answered_afterwards() -> None:
    talk = speaking(detection=TurnDetection(interrupt_response=False))
    talk.utterance("and another thing")
    assert talk.all(EpochAdvanced) == []
    assert len(talk.all(ResponseCreated)) == 1
    talk.finish()
    assert len(talk.all(ResponseCreated)) == 2


def test_a_user_who_breaks_in_is_not_answered_before_he_has_finished() -> None:
    talk = speaking(detection=TurnDetection(interrupt_response=False))
    talk.utterance("and another thing")  # an answer to this is owed
    talk.do(c.Configure(turn_detection=TurnDetection()))
    talk.hear(400)
    assert talk.state.turns.active is None
    talk.hear(256, SILENCE)
    talk.understand("no, wait")
    talk.hear(400, SILENCE)
    assert len(talk.all(ResponseCreated)) == 2


def test_a_stage_s_refusal_comes_back_as_a_fact_and_never_as_a_second_decision() -> None:
    talk = Talk()
    talk.do(c.CreateResponse())
    operation = talk.active.operation
    happened = talk.do(
        c.RecordFailure(
            operation=operation, index=0, epoch=0, last=True, code="stale_fence", message="epoch 0 is over"
        )
    )
    assert names(happened) == ["UnitRefused", "ResponseEnded"]
    assert only(UnitRefused, happened)[0].operation == operation
    assert only(ResponseEnded, happened)[0].outcome == "failed"
    assert talk.all(EpochAdvanced) == []


def test_the_user_s_own_words_are_never_void() -> None:
    talk = Talk()
    talk.hear(400)
    talk.hear(256, SILENCE)
    talk.do(c.CreateResponse(), c.CancelResponse())
    assert names(talk.understand("hello")) == ["UnitCompleted"]


@pytest.mark.parametrize("hears", ["utterances", "continuously"])
def test_epoch_and_turn_never_go_back(hears: str) -> None:
    talk = Talk(hears=hears)
    fences = []
    for _ in range(3):
        talk.do(c.CreateResponse())
        fences.append(talk.state.fence)
        talk.do(c.CancelResponse())
        fences.append(talk.state.fence)
    marks = [(fence.epoch, fence.turn) for fence in fences]
    assert marks == sorted(marks)
    assert marks[-1] == (3, 3)


def test_the_first_words_of_a_duplex_model_create_its_response() -> None:
    talk = Talk(hears="continuously", detection=None)
    heard = talk.do(c.AppendAudio(pcm=pcm(80)))
    assert names(heard) == ["InputAppended"]
    happened = talk.do(
        c.RecordSpeech(
            text="", pcm=pcm(80), operation=Operation(talk.stored[-1].seq), index=0, epoch=0, last=True
        )
    )
    assert names(happened) == ["ResponseCreated", "AudioSpoken"]


def test_speech_is_dated_to_its_first_window_and_dropped_words_stay_out_of_the_history() -> None:
    talk = speaking()
    talk.now_ms += 300
    talk.hear(200)
    [started] = talk.all(SpeechStarted)
    assert started.onset_sample == 0
    assert talk.conversation == [("assistant", "One two")]
