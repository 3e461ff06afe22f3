"""What breaks which client (measured), checked on a conversation with everything in it."""

from __future__ import annotations

from typing import Any

from antiphon.actors.session import commands as c
from tests.actors.session.given import SILENCE, Talk

from .test_realtime_golden import note, shown


def everything() -> list[dict[str, Any]]:
    """A conversation with everything in it."""
    talk = Talk()
    talk.do(c.Configure(transcription=True), note("written"), c.CreateResponse(metadata={"a": "b"}))
    talk.say("Good morning.", 700)
    talk.send(700)
    talk.finish()
    talk.hear(320, SILENCE)
    talk.utterance("and now")
    talk.say("Now.", 300)
    talk.send(300)
    talk.hear(400)
    talk.do(c.TruncateItem(item=talk.state.played[-1].item, audio_end_ms=100))
    talk.hear(800, SILENCE)
    talk.refuses(c.CreateResponse())
    talk.do(c.CloseSession(reason="client"))
    return shown(talk)


FRAMES = everything()


def test_every_frame_has_an_event_id_and_they_strictly_increase() -> None:
    numbers = [int(frame["event_id"].removeprefix("event_")) for frame in FRAMES]
    assert numbers == sorted(set(numbers))


def test_output_index_and_content_index_are_always_there() -> None:
    for frame in FRAMES:
        if frame["type"].startswith(("response.output_", "response.content_part")):
            assert frame["output_index"] == 0
            if "item" not in frame:
                assert frame["content_index"] == 0


def test_no_type_is_shown_that_the_public_protocol_does_not_have() -> None:
    assert {frame["type"] for frame in FRAMES} >= {"error", "conversation.item.truncated", "response.done"}


def test_statuses_and_reasons_are_of_the_public_lists() -> None:
    items = [frame["item"] for frame in FRAMES if "item" in frame]
    responses = [frame["response"] for frame in FRAMES if "response" in frame]
    items += [item for response in responses for item in response["output"]]
    assert {item["status"] for item in items} <= {"completed", "incomplete", "in_progress"}
    assert {response["status"] for response in responses} <= {
        "completed",
        "cancelled",
        "failed",
        "incomplete",
        "in_progress",
    }
    reasons = {(response["status_details"] or {}).get("reason") for response in responses}
    assert reasons <= {None, "turn_detected", "client_cancelled", "max_output_tokens", "content_filter"}


def test_an_assistant_s_content_is_output_audio_in_items_and_audio_in_parts() -> None:
    parts = [frame["part"]["type"] for frame in FRAMES if "part" in frame]
    assert set(parts) <= {"audio", "text"}
    answers = [frame["item"] for frame in FRAMES if frame.get("item", {}).get("role") == "assistant"]
    assert {part["type"] for item in answers for part in item["content"]} <= {"output_audio", "output_text"}


def test_a_part_begins_with_an_empty_transcript_and_a_user_s_audio_always_has_the_key() -> None:
    begun = [frame["part"] for frame in FRAMES if frame["type"] == "response.content_part.added"]
    assert all(part.get("transcript", part.get("text")) == "" for part in begun)
    users = [frame["item"] for frame in FRAMES if frame.get("item", {}).get("role") == "user"]
    spoken = [part for item in users for part in item["content"] if part["type"] == "input_audio"]
    assert spoken
    assert all("transcript" in part for part in spoken)


def test_times_are_whole_milliseconds_and_name_their_item() -> None:
    for kind, member in (("speech_started", "audio_start_ms"), ("speech_stopped", "audio_end_ms")):
        found = [frame for frame in FRAMES if frame["type"] == f"input_audio_buffer.{kind}"]
        assert found
        assert all(type(frame[member]) is int and frame["item_id"] for frame in found)


def test_a_transcription_has_its_usage() -> None:
    found = [frame for frame in FRAMES if frame["type"].endswith("input_audio_transcription.completed")]
    assert found
    assert all(frame["usage"]["type"] == "duration" and frame["usage"]["seconds"] > 0 for frame in found)
    assert all(frame["content_index"] == 0 for frame in found)


def test_a_transcription_that_was_not_asked_for_is_not_shown() -> None:
    talk = Talk()
    talk.utterance("unasked")
    assert not any("transcription" in frame["type"] for frame in shown(talk))


def test_every_error_has_a_type_a_code_and_a_message() -> None:
    errors = [frame["error"] for frame in FRAMES if frame["type"] == "error"]
    assert errors
    assert all(error["type"] and error["code"] and isinstance(error["message"], str) for error in errors)
