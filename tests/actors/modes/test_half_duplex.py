"""Half-duplex calls: what is heard, what is answered, and when a call ends."""

from __future__ import annotations

import pytest

from antiphon.actors.session import commands as c
from antiphon.events.vocabulary import (
    CallPrepared,
    EpochAdvanced,
    InputAppended,
    InputCommitted,
    InputDropped,
    ResponseCreated,
    ResponseEnded,
    SessionClosed,
    SessionExpired,
    SpeechStarted,
    SpeechStopped,
    UnitSubmitted,
)
from tests.actors.session.given import names, only, pcm

from .calls import PHONE, WINDOW_MS, PhoneCall, asked, edges

MS = 24


# --- hearing ----------------------------------------------------------------------------------------------


def test_audio_before_the_call_is_prepared_is_refused() -> None:
    call = PhoneCall(prepared=False)
    refusal = call.refuses(c.AppendAudio(pcm=pcm(500)))
    assert (refusal.code, refusal.message) == ("not_prepared", "Not prepared yet")
    assert call.state.phase == "open"


def test_what_comes_right_after_prepared_is_dropped_and_what_comes_later_is_heard() -> None:
    call = PhoneCall(prepared=False)
    call.do(asked())
    call.now_ms += 200
    assert names(call.windows(*[0.9] * 15)) == ["InputDropped"]
    call.now_ms += 400 - 15 * WINDOW_MS
    assert edges(call.windows(*[0.9] * 15)) == [True]
    assert only(InputDropped, call.events)[0].reason == "cold_start"


def test_a_pause_of_24_windows_does_not_end_a_segment() -> None:
    call = PhoneCall()
    happened = call.windows(*[0.9] * 31, *[0.1] * 24, *[0.9] * 31, *[0.1] * 25, of=15)
    assert len(only(InputCommitted, happened)) == 1


def test_25_silent_windows_end_a_segment_where_24_do_not() -> None:
    call = PhoneCall()
    assert edges(call.windows(*[0.9] * 10, *[0.1] * 24)) == [True]
    assert edges(call.windows(0.1)) == [False]


def test_a_window_between_the_thresholds_begins_the_silence_anew() -> None:
    call = PhoneCall()
    assert edges(call.windows(*[0.9] * 20, *[0.1] * 24, 0.70, *[0.1] * 24)) == [True]
    assert edges(call.windows(0.1)) == [False]


def test_a_window_just_below_the_lower_threshold_does_not() -> None:
    call = PhoneCall()
    assert edges(call.windows(*[0.9] * 20, *[0.1] * 24, 0.649)) == [True, False]


@pytest.mark.parametrize(("windows", "answers"), [(1, 0), (2, 0), (3, 0), (4, 1), (5, 1)])
def test_a_segment_is_as_long_as_from_its_first_window_to_the_last_that_is_not_silent(
    windows: int, answers: int
) -> None:
    call = PhoneCall()
    happened = call.windows(*[0.9] * windows, *[0.1] * 25)
    assert edges(happened) == [True, False]
    assert len(only(ResponseCreated, happened)) == answers
    assert only(SpeechStopped, happened)[0].short == (not answers)


def test_a_segment_has_its_padding_before_and_behind_it_and_no_more() -> None:
    call = PhoneCall()
    call.windows(*[0.1] * 10)
    (committed,) = only(InputCommitted, call.windows(*[0.9] * 10, *[0.1] * 25))
    assert committed.from_sample == (10 * WINDOW_MS - 30) * MS
    assert committed.until_sample == (20 * WINDOW_MS + 30) * MS


def test_the_padding_does_not_reach_into_what_was_said_before() -> None:
    call = PhoneCall()
    call.do(asked(PHONE.__class__(**{**_members(PHONE), "prefix_padding_ms": 1000})))
    call.now_ms += 500
    call.says_something()
    first = only(InputCommitted, call.events)[-1]
    call.say("Yes.", 100)
    call.finish()
    call.plays_out()
    call.says_something()
    second = only(InputCommitted, call.events)[-1]
    assert second.from_sample == first.until_sample


def _members(detection: object) -> dict[str, object]:
    return {name: getattr(detection, name) for name in detection.__struct_fields__}  # type: ignore[attr-defined]


def test_two_utterances_in_one_chunk_are_two_turns_in_order() -> None:
    call = PhoneCall()
    happened = call.windows(*[0.9] * 30, *[0.1] * 31, *[0.9] * 30, *[0.1] * 31)
    first, second = only(InputCommitted, happened)
    assert (first.outcome, second.outcome) == ("asked", "deferred")
    call.understand("one")
    assert call.active.answers is None
    call.say("First.", 1000)
    call.finish()
    assert call.state.turns.active is None, "an answer that plays is not overtaken by the next"
    call.plays_out()
    assert call.active.answers == second.item
    assert call.conversation[:1] == [("user", "one")]


def test_a_segment_that_waits_is_answered_also_when_the_answer_before_it_failed() -> None:
    call = PhoneCall()
    call.windows(*[0.9] * 10, *[0.1] * 25, *[0.9] * 10, *[0.1] * 25)
    call.understand("hello")
    active = call.active
    word = {"operation": active.operation, "index": active.next_index, "epoch": call.state.fence.epoch}
    call.do(c.RecordFailure(code="engine_error", message="out of breath", last=True, **word))
    assert call.active.answers is not None


def test_speech_that_an_answer_began_over_is_kept_and_not_answered() -> None:
    call = PhoneCall()
    call.windows(*[0.9] * 10, *[0.1] * 25, *[0.9] * 6)
    assert call.state.voice.speaking is not None
    call.understand("hello")
    call.say("Yes.", 500)
    happened = call.finish()
    (stopped,) = only(SpeechStopped, happened)
    (kept,) = only(InputCommitted, happened)
    assert (stopped.by, kept.outcome, kept.final) == ("answer", "kept", False)
    call.plays_out()
    assert call.state.turns.active is None
    assert call.state.voice.speaking is None


def test_a_client_that_stops_sending_in_mid_speech_is_answered_all_the_same() -> None:
    call = PhoneCall()
    call.windows(*[0.9] * 10)
    happened = call.wait(1_100)
    assert only(SpeechStopped, happened)[0].by == "timer"
    assert only(ResponseCreated, happened)


# --- no echo ----------------------------------------------------------------------------------------------


def test_audio_is_not_heard_while_an_answer_is_generated_nor_while_it_plays() -> None:
    call = PhoneCall()
    call.says_something()
    appended = call.state.buffer.appended
    assert names(call.windows(*[0.9] * 15)) == ["InputDropped"]
    call.say("A long story.", 2_000)
    call.finish()
    call.send(2_000)
    call.wait(1_000)
    assert names(call.windows(*[0.9] * 15)) == ["InputDropped"]
    assert call.state.buffer.appended == appended
    assert [one.reason for one in only(InputDropped, call.events)] == ["answering", "playing"]
    assert all(one.samples == 15 * WINDOW_MS * MS for one in only(InputDropped, call.events))
    call.wait(1_000)
    assert edges(call.windows(*[0.9] * 15)) == [True]


def test_what_is_dropped_never_reaches_the_voice_detector() -> None:
    call = PhoneCall()
    call.says_something()
    call.do(c.AppendAudio(pcm=pcm(500)))
    assert not call.effects


def test_nobody_breaks_in() -> None:
    call = PhoneCall()
    call.windows(*[0.9] * 10, *[0.1] * 25, *[0.9] * 10)
    assert not only(EpochAdvanced, call.events)
    assert call.state.turns.active is not None


def test_an_answer_in_text_only_plays_for_no_time() -> None:
    call = PhoneCall()
    call.do(asked(output_modalities=("text",)))
    call.now_ms += 500
    call.says_something()
    call.say("Written.")
    call.finish()
    assert edges(call.windows(*[0.9] * 5)) == [True]


# --- the conversation -------------------------------------------------------------------------------------


def test_what_was_said_is_remembered_over_turns() -> None:
    call = PhoneCall()
    call.says_something("my name is Ada")
    call.say("Good morning, Ada.", 500)
    call.finish()
    call.plays_out()
    call.says_something("what is my name")
    assert call.conversation == [
        ("user", "my name is Ada"),
        ("assistant", "Good morning, Ada."),
        ("user", "what is my name"),
    ]


def test_a_call_that_is_prepared_again_begins_anew() -> None:
    call = PhoneCall()
    call.says_something("my name is Ada")
    call.say("Good morning, Ada.", 500)
    call.finish()
    call.plays_out()
    prepared = only(CallPrepared, call.do(asked(instructions="Be brief.")))
    assert [one.number for one in prepared] == [2]
    assert names(call.windows(*[0.9] * 5)) == ["InputDropped"]
    call.now_ms += 500
    call.says_something("what is my name")
    assert call.conversation == [("user", "what is my name")]
    assert call.state.config.instructions == "Be brief."


def test_a_call_is_not_prepared_again_while_the_assistant_speaks() -> None:
    call = PhoneCall()
    call.says_something()
    assert call.refuses(asked()).code == "not_idle"
    call.say("Yes.", 500)
    call.finish()
    assert call.refuses(asked()).code == "not_idle"
    call.plays_out()
    assert only(CallPrepared, call.do(asked()))


def test_an_answer_that_fails_leaves_the_call_as_it_was() -> None:
    call = PhoneCall()
    call.says_something("one")
    active = call.active
    word = {"operation": active.operation, "index": active.next_index, "epoch": call.state.fence.epoch}
    happened = call.do(c.RecordFailure(code="engine_error", message="out of breath", last=True, **word))
    assert only(ResponseEnded, happened)[0].outcome == "failed"
    call.says_something("two")
    assert call.active.response


# --- how it ends ------------------------------------------------------------------------------------------


def test_stopping_cancels_what_is_generated() -> None:
    call = PhoneCall()
    call.says_something()
    call.say("One moment", 400)
    happened = call.do(c.CloseSession(reason="client"))
    assert [type(one) for one in happened] == [ResponseEnded, SessionClosed]
    assert only(ResponseEnded, happened)[0].outcome == "cancelled"


def test_stopping_in_mid_sentence_keeps_what_was_said_and_answers_nothing() -> None:
    call = PhoneCall()
    call.windows(*[0.9] * 20, of=5)
    happened = call.do(c.CloseSession(reason="client"))
    assert names(happened) == ["SpeechStopped", "InputCommitted", "SessionClosed"]
    (kept,) = only(InputCommitted, happened)
    assert (kept.by, kept.final, kept.until_sample - kept.from_sample) == ("end", False, 20 * WINDOW_MS * MS)
    assert not only(UnitSubmitted, happened)


def test_stopping_in_a_blip_keeps_nothing() -> None:
    call = PhoneCall()
    call.windows(0.9, 0.9)
    assert names(call.do(c.CloseSession(reason="client"))) == ["SpeechStopped", "SessionClosed"]


@pytest.mark.parametrize(
    ("why", "reason"), [("lost", "disconnected"), ("closed", "client"), ("server", "shutdown")]
)
def test_nobody_comes_back_to_a_call(why: str, reason: str) -> None:
    call = PhoneCall()
    (closed,) = only(SessionClosed, call.do(c.Detach(attachment=1, reason=why)))
    assert closed.reason == reason


def test_a_process_that_stops_ends_its_calls() -> None:
    call = PhoneCall()
    assert only(SessionClosed, call.do(c.Park(reason="shutdown")))[0].reason == "shutdown"


def test_the_time_of_a_call_runs_from_prepared_whatever_is_said() -> None:
    call = PhoneCall()
    call.do(asked(lasts_ms=2_000))
    call.now_ms += 600
    call.windows(*[0.1] * 30)
    assert not only(SessionExpired, call.events)
    (expired,) = only(SessionExpired, call.wait(500))
    assert expired.reason == "timeout"
    assert call.stored[-1].at.mono_ns - _prepared_ns(call) >= 2_000 * 1_000_000


def _prepared_ns(call: PhoneCall) -> int:
    return next(one.at.mono_ns for one in reversed(call.stored) if isinstance(one.event, CallPrepared))


def test_an_answer_under_way_is_heard_to_its_end() -> None:
    call = PhoneCall()
    call.do(asked(lasts_ms=2_000))
    call.now_ms += 500
    call.says_something()
    call.wait(3_000)
    assert call.state.phase == "open"
    call.say("At last.")
    call.finish()
    assert only(SessionExpired, call.wait(0))


def test_a_client_that_never_prepares_is_let_go() -> None:
    call = PhoneCall(prepared=False)
    assert not only(SessionExpired, call.wait(59_000))
    assert only(SessionExpired, call.wait(1_000))[0].reason == "prepare_timeout"


def test_a_call_without_a_voice_detector_fails() -> None:
    call = PhoneCall()
    call.do(asked(lasts_ms=3_600_000))
    assert "SessionFailed" in names(call.lose("voice"))


def test_speech_is_dated_to_the_first_window_of_its_segment() -> None:
    call = PhoneCall()
    call.windows(*[0.1] * 5)
    happened = call.windows(0.9)
    assert names(happened) == ["InputAppended", "VoiceScored", "SpeechStarted"]
    assert only(SpeechStarted, happened)[0].onset_sample == 5 * WINDOW_MS * MS
    assert only(InputAppended, happened)[0].until_sample == 6 * WINDOW_MS * MS
