"""What a plain Realtime client is shown, frame by frame and in order (livekit's order, which all accept)."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.actors.session import commands as c
from antiphon.events.ids import ItemId
from antiphon.events.vocabulary import Item, Part, TurnDetection
from antiphon.projections.realtime.items import retrieved
from tests.actors.session.given import Talk
from tests.actors.session.laws import frames_of

from .sdk import all_judged

ANSWER_BEGINS = [
    "response.created",
    "response.output_item.added",
    "conversation.item.added",
    "response.content_part.added",
]
SOUND = "response.output_audio.delta"
WORDS = "response.output_audio_transcript.delta"
ANSWER_ENDS = [
    "response.output_audio.done",
    "response.output_audio_transcript.done",
    "response.content_part.done",
    "response.output_item.done",
    "conversation.item.done",
    "response.done",
]
USER_COMMITTED = ["input_audio_buffer.committed", "conversation.item.added", "conversation.item.done"]


def shown(talk: Talk) -> list[dict[str, Any]]:
    """Every frame so far, each held to the SDK's models."""
    return all_judged(frames_of(talk.stored)[1])


def kinds(frames: list[dict[str, Any]]) -> list[str]:
    """Types in order, runs of one type as one."""
    seen: list[str] = []
    for frame in frames:
        if not seen or seen[-1] != frame["type"]:
            seen.append(frame["type"])
    return seen


def one(frames: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    [found] = [frame for frame in frames if frame["type"] == kind]
    return found


def note(text: str, **how: Any) -> c.AddItem:
    item = Item(id=ItemId(how.pop("id", "")), role="user", content=(Part(kind="input_text", text=text),))
    return c.AddItem(item=item, **how)


# --- golden sequences -------------------------------------------------------------------------------------


def test_a_session_begins_with_session_created_and_nothing_before_it() -> None:
    [created] = shown(Talk())
    assert created["type"] == "session.created"
    assert created["session"]["type"] == "realtime"
    assert created["session"]["audio"]["input"]["format"] == {"type": "audio/pcm", "rate": 24_000}
    detection = created["session"]["audio"]["input"]["turn_detection"]
    assert detection["type"] == "server_vad"
    assert detection["interrupt_response"] is detection["create_response"] is True


def test_a_spoken_turn_and_its_answer() -> None:
    talk = Talk()
    talk.do(c.Configure(transcription=True))
    talk.utterance("what time is it")
    talk.say("It is noon.", 300)
    talk.finish()
    assert kinds(shown(talk)) == [
        "session.created",
        "session.updated",
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        *USER_COMMITTED,
        "conversation.item.input_audio_transcription.completed",
        *ANSWER_BEGINS,
        WORDS,
        SOUND,
        *ANSWER_ENDS,
    ]


def test_a_written_turn_and_its_answer_in_text_only() -> None:
    talk = Talk(detection=None)
    talk.do(note("hi"), c.CreateResponse(modalities=("text",)))
    talk.say("Hello.")
    talk.finish()
    assert kinds(shown(talk)) == [
        "session.created",
        "conversation.item.added",
        "conversation.item.done",
        *ANSWER_BEGINS,
        "response.output_text.delta",
        "response.output_text.done",
        *ANSWER_ENDS[2:],
    ]


def test_a_manual_commit() -> None:
    talk = Talk(detection=None)
    talk.do(c.AppendAudio(pcm=b"\x00\x00" * 4_800), c.CommitInput())
    talk.do(c.AppendAudio(pcm=b"\x00\x00" * 4_800), c.ClearInput())
    assert kinds(shown(talk)) == ["session.created", *USER_COMMITTED, "input_audio_buffer.cleared"]


def test_a_barge_in() -> None:
    """A cancelled response still closes its part and its item, marked incomplete, before it is done."""
    talk = Talk()
    talk.do(c.CreateResponse())
    talk.say("One two three four five six.", 2_000)
    talk.send(2_000)
    talk.now_ms += 500
    talk.hear(400)
    frames = shown(talk)
    assert kinds(frames)[5:] == [WORDS, SOUND, "input_audio_buffer.speech_started", *ANSWER_ENDS]
    done = one(frames, "response.done")["response"]
    assert done["status"] == "cancelled"
    assert done["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
    [item] = done["output"]
    assert item["status"] == "incomplete"
    assert item["content"] == [{"type": "output_audio", "transcript": "One two"}]
    assert one(frames, "response.output_audio_transcript.done")["transcript"] == (
        "One two three four five six."
    )


def test_a_cancel_before_the_first_sound() -> None:
    talk = Talk(detection=None)
    talk.do(c.CreateResponse(), c.CancelResponse())
    frames = shown(talk)
    assert kinds(frames)[1:] == [*ANSWER_BEGINS, *ANSWER_ENDS]
    assert one(frames, "response.done")["response"]["status_details"]["reason"] == "client_cancelled"


def test_a_truncation_is_answered_and_what_is_retrieved_is_what_was_heard() -> None:
    talk = Talk(detection=None)
    talk.answer("One two three four five six.", 2_000)
    talk.send(2_000)
    item = talk.state.played[0].item
    talk.do(c.TruncateItem(item=item, audio_end_ms=550, content_index=0))
    cut = shown(talk)[-1]
    assert cut["type"] == "conversation.item.truncated"
    assert (cut["item_id"], cut["content_index"], cut["audio_end_ms"]) == (item, 0, 550)
    entry = talk.state.entry(item)
    assert entry is not None
    assert retrieved(entry, talk.state)["content"] == [{"type": "output_audio", "transcript": "One two"}]


def test_items_come_and_go() -> None:
    talk = Talk(detection=None)
    talk.do(note("a", id="a"), note("b", id="b", previous=ItemId("a")), c.RemoveItem(item=ItemId("a")))
    frames = shown(talk)
    assert kinds(frames)[1:] == [
        *["conversation.item.added", "conversation.item.done"] * 2,
        "conversation.item.deleted",
    ]
    added = [frame for frame in frames if frame["type"] == "conversation.item.added"]
    assert [frame["previous_item_id"] for frame in added] == [None, "a"]
    assert [frame["item"]["id"] for frame in added] == ["a", "b"]


def test_an_answer_that_fails_is_done_and_names_why() -> None:
    talk = Talk(detection=None)
    talk.do(c.CreateResponse())
    word = {"operation": talk.active.operation, "index": 0, "epoch": 0, "last": True}
    talk.do(c.RecordFailure(code="engine_error", message="the engine failed", **word))
    done = one(shown(talk), "response.done")["response"]
    assert done["status"] == "failed"
    assert done["status_details"]["error"]["code"] == "engine_error"


def test_an_answer_cut_at_its_limit_is_incomplete() -> None:
    talk = Talk(detection=None)
    talk.do(c.CreateResponse(max_output_tokens=3))
    talk.say("One", 200)
    talk.finish("length")
    done = one(shown(talk), "response.done")["response"]
    assert (done["status"], done["max_output_tokens"]) == ("incomplete", 3)
    assert done["status_details"] == {"type": "incomplete", "reason": "max_output_tokens"}


def test_the_loss_of_the_model_is_an_error_after_the_response_s_end() -> None:
    talk = Talk(detection=None)
    talk.do(c.CreateResponse())
    talk.lose("model")
    frames = shown(talk)
    assert kinds(frames)[-2:] == ["response.done", "error"]
    assert frames[-1]["error"]["code"] == "stage_lost"
    assert frames[-1]["error"]["type"] == "server_error"


# --- what clients decide by -------------------------------------------------------------------------------


def test_usage_has_every_count_and_no_null() -> None:
    talk = Talk(detection=None)
    talk.do(c.CreateResponse())
    word = {"operation": talk.active.operation, "index": 0, "epoch": 0, "last": True}
    talk.do(c.RecordFinish(why="done", input_tokens=7, output_tokens=5, cached_tokens=2, **word))
    usage = one(shown(talk), "response.done")["response"]["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (7, 5, 12)
    assert usage["input_token_details"]["cached_tokens"] == 2
    details = [*usage["input_token_details"].values(), *usage["output_token_details"].values()]
    assert all(type(count) is int for count in details)


def test_metadata_of_response_create_is_echoed_from_the_first_frame_on() -> None:
    talk = Talk(detection=None)
    talk.do(c.CreateResponse(metadata={"client_event_id": "evt_1"}))
    talk.finish()
    for kind in ("response.created", "response.done"):
        assert one(shown(talk), kind)["response"]["metadata"] == {"client_event_id": "evt_1"}


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (c.CancelResponse(client_event="e"), "response_cancel_not_active"),
        (c.CommitInput(client_event="e"), "input_audio_buffer_commit_empty"),
        (note("again", id="a", client_event="e"), "item_create_duplicate_item_id"),
        (c.RemoveItem(client_event="e", item=ItemId("none")), "item_not_found"),
    ],
)
def test_errors_have_the_public_names_and_echo_the_client_s_event_id(command: c.Command, code: str) -> None:
    talk = Talk(detection=None)
    talk.do(note("a", id="a"))
    talk.refuses(command)
    frame = shown(talk)[-1]
    assert (frame["type"], frame["error"]["code"], frame["error"]["event_id"]) == ("error", code, "e")
    assert frame["error"]["type"] == "invalid_request_error"
    if code == "response_cancel_not_active":
        assert frame["error"]["message"].startswith("Cancellation failed")


def test_a_second_response_is_refused_by_its_public_name() -> None:
    talk = Talk(detection=None)
    talk.do(c.CreateResponse())
    talk.refuses(c.CreateResponse())
    assert shown(talk)[-1]["error"]["code"] == "conversation_already_has_active_response"


def test_a_refusal_is_shown_only_to_the_attachment_that_asked() -> None:
    talk = Talk(detection=None)
    before = len(shown(talk))
    talk.refuses(c.CancelResponse(), attachment=2)
    assert len(shown(talk)) == before


def test_semantic_vad_is_echoed_by_the_name_the_client_gave_it() -> None:
    talk = Talk()
    asked = {"audio": {"input": {"turn_detection": {"type": "semantic_vad", "eagerness": "low"}}}}
    talk.do(c.Configure(turn_detection=TurnDetection(silence_duration_ms=800), echo=asked))
    shown_back = shown(talk)[-1]["session"]["audio"]["input"]["turn_detection"]
    assert shown_back == {
        "type": "semantic_vad",
        "eagerness": "low",
        "create_response": True,
        "interrupt_response": True,
    }


def test_a_partial_update_does_not_reset_what_it_does_not_mention() -> None:
    talk = Talk()
    talk.do(c.Configure(voice="alba", instructions="be brief", echo={"tracing": "auto"}))
    talk.do(c.Configure(echo={"audio": {"output": {"speed": 1.0}}}))
    session = shown(talk)[-1]["session"]
    assert session["instructions"] == "be brief"
    assert session["audio"]["output"]["voice"] == "alba"
    assert session["tracing"] == "auto"
    assert session["audio"]["input"]["turn_detection"]["type"] == "server_vad"


def test_audio_and_transcript_deltas_joined_are_the_whole() -> None:
    talk = Talk(detection=None)
    talk.do(c.CreateResponse())
    for text in ("One ", "two ", "three."):
        talk.say(text, 500)
    talk.finish()
    frames = shown(talk)
    words = "".join(frame["delta"] for frame in frames if frame["type"] == WORDS)
    assert words == one(frames, "response.output_audio_transcript.done")["transcript"] == "One two three."
    pieces = [payload for payload in talk.payloads if payload]
    assert sum(frame["type"] == SOUND for frame in frames) == len(pieces)
    assert all(len(piece) % 2 == 0 and len(piece) <= 9_600 for piece in pieces)


def test_what_a_cancelled_response_shows_is_what_the_history_holds() -> None:
    """Also when the client had said before how much was heard."""
    for say_so in (
        lambda talk: c.TruncateItem(item=talk.active.item, audio_end_ms=600),
        lambda talk: c.AcknowledgePlayback(response=talk.active.response, heard_ms=600),
    ):
        talk = Talk(detection=None)
        talk.do(c.CreateResponse())
        talk.say("One two three four five six.", 2_000)
        talk.send(2_000)
        item = talk.active.item
        talk.do(say_so(talk), c.CancelResponse())
        content = one(shown(talk), "response.done")["response"]["output"][0]["content"]
        assert content == [{"type": "output_audio", "transcript": talk.text_of(item)}]


def asked_for_the_weather() -> Talk:
    """A conversation in which a function is called."""
    talk = Talk(able={"calls_tools": True})
    talk.do(note("what is the weather"))
    talk.do(c.CreateResponse())
    word = {"operation": talk.active.operation, "epoch": 0, "last": False}
    talk.do(c.RecordCall(call_id="call_1", name="weather", arguments='{"in":"Bern"}', index=0, **word))
    talk.finish()
    return talk


def test_a_function_call_is_an_item_of_its_own_in_the_response() -> None:
    frames = shown(asked_for_the_weather())

    begun = kinds(frames).index("response.function_call_arguments.delta")
    assert kinds(frames)[begun - 2 : begun + 4] == [
        "response.output_item.added",
        "conversation.item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
        "conversation.item.done",
    ]
    done = one(frames, "response.function_call_arguments.done")
    assert (done["call_id"], done["name"], done["arguments"]) == ("call_1", "weather", '{"in":"Bern"}')
    answer, call = one(frames, "response.done")["response"]["output"]
    assert (answer["type"], call["type"], call["call_id"]) == ("message", "function_call", "call_1")
    assert call["id"] == done["item_id"] != answer["id"]
