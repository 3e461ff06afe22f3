"""Given what happens in a call, then these frames: the dialect's list of cases, with scripted probabilities."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.actors.session import commands as c
from antiphon.events.vocabulary import NotApplied
from antiphon.projections.dialects import DIALECTS
from tests.actors.modes.calls import PhoneCall, asked
from tests.actors.modes.test_any_call import ACTS, prepare
from tests.actors.session.test_any_conversation import TERMS, Conversation

from .duplex_laws import continued, frames_of
from .half_duplex_laws import check

EXAMPLES = 1_000 if os.environ.get("CI") else 100
PROJECTION = DIALECTS["half_duplex"]


def shown(call: PhoneCall) -> list[dict[str, Any]]:
    """What the client of the call has been shown, and all of it lawful."""
    frames = frames_of(call.stored, PROJECTION)
    check(frames)
    return frames


def kinds(frames: list[dict[str, Any]]) -> list[str]:
    return [frame["type"] for frame in frames]


def fail(call: PhoneCall) -> None:
    active = call.active
    word = {"operation": active.operation, "index": active.next_index, "epoch": call.state.fence.epoch}
    call.do(c.RecordFailure(code="engine_error", message="out of breath", last=True, **word))


def test_a_turn_in_its_order() -> None:
    call = PhoneCall()
    call.says_something()
    call.say("Good ", 150)
    call.say("morning.")
    call.finish()
    prepared, *turn = shown(call)
    assert prepared == {
        "type": "prepared", "session_id": "sess_1", "timeout_s": 180.0, "recording_session_id": "sess_1",
    }  # fmt: skip
    sound = {"text_delta": None, "audio_sample_rate": 24_000, "is_final": False}
    words = {"audio_data": None, "audio_sample_rate": 24_000, "is_final": False, "duration_ms": 0}
    assert turn == [
        {"type": "vad_state", "speaking": True},
        {"type": "vad_state", "speaking": False},
        {"type": "generating", "speech_duration_ms": 350},
        {"type": "chunk", "chunk_index": 0, "text_delta": "Good ", **words},
        {"type": "chunk", "chunk_index": 1, "audio_data": "", "duration_ms": 100, **sound},
        {"type": "chunk", "chunk_index": 2, "audio_data": "", "duration_ms": 50, **sound},
        {"type": "chunk", "chunk_index": 3, "text_delta": "morning.", **words},
        {"type": "chunk", "chunk_index": 4, "text_delta": None, **words, "is_final": True},
        {"type": "turn_done", "turn_index": 1, "text": "Good morning."},
    ]


def test_a_blip_is_seen_and_not_answered() -> None:
    call = PhoneCall()
    call.windows(0.9, 0.9, *[0.1] * 25)
    assert kinds(shown(call)[1:]) == ["vad_state", "vad_state"]


def test_two_utterances_of_one_chunk_are_two_turns_each_with_its_length() -> None:
    call = PhoneCall()
    call.windows(*[0.1] * 4, *[0.9] * 10, *[0.1] * 30, *[0.9] * 20, *[0.1] * 30)
    call.understand("one")
    call.say("First.", 100)
    call.finish()
    call.plays_out()
    call.say("Second.", 100)
    call.finish()
    frames = shown(call)
    lengths = [frame["speech_duration_ms"] for frame in frames if frame["type"] == "generating"]
    assert lengths == [320 + 2 * 30, 640 + 2 * 30]
    assert [frame["text"] for frame in frames if frame["type"] == "turn_done"] == ["First.", "Second."]


def test_an_answer_that_fails_ends_in_an_error_and_is_not_counted() -> None:
    call = PhoneCall()
    call.says_something()
    call.say("Well,", 100)
    fail(call)
    frames = shown(call)
    assert kinds(frames)[-2:] == ["chunk", "error"]
    assert frames[-2]["is_final"]
    assert (frames[-1]["code"], frames[-1]["error"]) == ("engine_error", "out of breath")
    call.plays_out()
    call.says_something()
    call.say("Yes.", 100)
    call.finish()
    assert shown(call)[-1] == {"type": "turn_done", "turn_index": 1, "text": "Yes."}


def test_a_stop_in_the_middle_of_an_answer() -> None:
    call = PhoneCall()
    call.says_something()
    call.say("One moment", 400)
    call.do(c.CloseSession(reason="client"))
    frames = shown(call)
    assert kinds(frames)[-2:] == ["chunk", "stopped"]
    assert frames[-2]["is_final"]
    assert frames[-1]["session_id"] == "sess_1"


def test_a_call_that_is_over_after_its_time() -> None:
    call = PhoneCall()
    call.do(asked(lasts_ms=2_000))
    call.wait(2_000)
    assert shown(call)[-1] == {"type": "timeout", "elapsed_s": 2.0}


def test_a_call_that_nobody_prepares() -> None:
    call = PhoneCall(prepared=False)
    call.wait(60_000)
    assert [frame["code"] for frame in shown(call)] == ["prepare_timeout"]


def test_a_call_that_its_connection_takes_along_says_nothing_to_nobody() -> None:
    call = PhoneCall()
    call.do(c.Detach(attachment=1, reason="lost"))
    assert kinds(shown(call)) == ["prepared"]


def test_what_is_refused_is_told() -> None:
    call = PhoneCall(prepared=False)
    call.refuses(c.AppendAudio(pcm=bytes(4_800)))
    assert shown(call) == [{"type": "error", "error": "Not prepared yet", "code": "not_prepared"}]


def test_what_could_not_be_applied_is_told() -> None:
    call = PhoneCall(prepared=False)
    not_applied = (NotApplied("config.tts.enabled", "it cannot speak"),)
    call.do(asked().__class__(configuration=c.Configure(), lasts_ms=500, settings={}, not_applied=not_applied, recorded=False))  # fmt: skip
    assert shown(call) == [
        {
            "type": "prepared",
            "session_id": "sess_1",
            "timeout_s": 0.5,
            "not_applied": [{"parameter": "config.tts.enabled", "message": "it cannot speak"}],
        }
    ]


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    acts=st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 9)), min_size=10, max_size=50),
    cut=st.floats(0, 1),
)
def test_every_frame_of_any_call_is_lawful_wherever_it_is_cut(acts: Conversation, cut: float) -> None:
    call = PhoneCall(prepared=False, terms=TERMS)
    prepare(call, 1)
    for act, n in acts:
        act(call, n)
    frames = shown(call)
    at = int(cut * len(call.stored))
    view, seen = continued(PROJECTION.begin(1), call.stored[:at], PROJECTION)
    assert [*seen, *continued(view, call.stored[at:], PROJECTION)[1]] == frames
