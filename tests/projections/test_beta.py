"""The beta's names: the frames of the plain dialect, one for one, under the names of 2024 and none of today's."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.actors.session import commands as c
from antiphon.events.vocabulary import Config, TurnDetection
from antiphon.projections.base import Digest
from antiphon.projections.beta import names
from antiphon.projections.beta.projection import BetaProjection
from antiphon.projections.realtime.projection import RealtimeProjection
from antiphon.projections.realtime.session import session_object
from tests.actors.session.acts import ACTS
from tests.actors.session.given import Talk
from tests.actors.session.test_any_conversation import PLAIN, Conversation, Kind, conversations

from .test_realtime_golden import asked_for_the_weather, kinds, note, one

TODAY = ("response.output_audio", "response.output_text", "conversation.item.added", "conversation.item.done")
ANSWER_BEGINS = [
    "response.created",
    "response.output_item.added",
    "conversation.item.created",
    "response.content_part.added",
]
WORDS, SOUND = "response.audio_transcript.delta", "response.audio.delta"
ANSWER_ENDS = [
    "response.audio.done",
    "response.audio_transcript.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.done",
]


def shown(talk: Talk, projection: Any = BetaProjection()) -> list[dict[str, Any]]:
    """Every frame so far, as it goes over the wire."""
    view, frames = projection.begin(1), []
    for stored in talk.stored:
        view, more = projection.step(view, stored)
        frames += more
    return [msgspec.json.decode(projection.encode(frame)) for frame in frames]


def test_a_spoken_turn_and_its_answer() -> None:
    talk = Talk()
    talk.do(c.Configure(transcription=True))
    talk.utterance("what time is it")
    talk.say("It is noon.", 300)
    talk.finish()
    frames = shown(talk)
    assert kinds(frames) == [
        "session.created",
        "session.updated",
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        "conversation.item.created",
        "conversation.item.input_audio_transcription.completed",
        *ANSWER_BEGINS,
        WORDS,
        SOUND,
        *ANSWER_ENDS,
    ]
    done = one(frames, "response.done")["response"]
    assert done["output"][0]["content"] == [{"type": "audio", "transcript": "It is noon."}]
    assert done["modalities"] == ["text", "audio"]
    assert "output_modalities" not in done
    assert one(frames, "response.created")["response"]["output"] == []
    assert one(frames, "response.content_part.added")["part"] == {"type": "audio", "transcript": ""}


def test_a_written_answer() -> None:
    talk = Talk(detection=None)
    talk.do(note("hi"), c.CreateResponse(modalities=("text",)))
    talk.say("Hello.")
    talk.finish()
    frames = shown(talk)
    assert kinds(frames)[-5:] == [
        "response.text.delta",
        "response.text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.done",
    ]
    done = one(frames, "response.done")["response"]
    assert (done["modalities"], done["output"][0]["content"]) == (
        ["text"],
        [{"type": "text", "text": "Hello."}],
    )


def test_a_function_call_is_created_before_its_arguments() -> None:
    seen = kinds(shown(asked_for_the_weather()))
    begun = seen.index("response.function_call_arguments.delta")
    assert seen[begun - 2 : begun + 3] == [
        "response.output_item.added",
        "conversation.item.created",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
    ]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=st.sampled_from(PLAIN), acts=conversations(ACTS))
def test_any_conversation_is_told_by_the_beta_s_names_only(kind: Kind, acts: Conversation) -> None:
    talk = Talk(**kind)
    for act, n in acts:
        act(talk, n)
    today, frames = shown(talk, RealtimeProjection()), shown(talk)
    assert not [frame["type"] for frame in frames if frame["type"].startswith(TODAY)]
    assert len(frames) == sum(frame["type"] != "conversation.item.done" for frame in today)
    numbers = [int(frame["event_id"].removeprefix("event_")) for frame in frames]
    assert numbers == sorted(set(numbers))
    told: set[str] = set()
    for frame in frames:  # the console's client fails on whatever is of an item that it does not know
        if frame["type"] == "conversation.item.created":
            told.add(frame["item"]["id"])
        elif frame["type"].startswith("response.") and "item_id" in frame:
            assert frame["item_id"] in told


def test_it_says_the_same_as_the_plain_dialect() -> None:
    """A recording compares what was meant also where the frames have other bytes."""
    talk = Talk()
    talk.utterance("hello")
    talk.say("Good day.", 400)
    talk.finish()
    digests = []
    for projection in (RealtimeProjection(), BetaProjection()):
        digest, view = Digest(), projection.begin(1)
        for stored in talk.stored:
            view, frames = projection.step(view, stored)
            for frame in frames:
                digest.add(projection.encode(frame), projection.meaning(frame, stored))
        digests.append(digest)
    assert digests[0].of_meaning() == digests[1].of_meaning()
    assert digests[0].of_bytes() != digests[1].of_bytes()


# --- the session object -----------------------------------------------------------------------------------


def test_the_session_object_is_flat() -> None:
    config = Config(
        model="m",
        turn_detection=TurnDetection(),
        output_modalities=("audio",),
        echo={"temperature": 0.8, "audio": {"input": {"format": {"type": "audio/pcma"}}}},
    )
    session = names.flat({**session_object("s", config), "resume_token": "t"})  # type: ignore[arg-type]
    assert "type" not in session
    assert "audio" not in session
    assert {
        key: session[key] for key in ("input_audio_format", "output_audio_format", "modalities", "voice")
    } == {
        "input_audio_format": "g711_alaw",
        "output_audio_format": "pcm16",
        "modalities": ["text", "audio"],
        "voice": "default",
    }
    assert session["turn_detection"]["type"] == "server_vad"
    assert session["max_response_output_tokens"] == "inf"
    assert (session["temperature"], session["input_audio_transcription"]) == (0.8, None)
    assert session["resume_token"] == "t"


@pytest.mark.parametrize("name", sorted(names.PATHS))
def test_every_member_comes_back_by_its_name(name: str) -> None:
    value = "g711_ulaw" if name.endswith("_audio_format") else None
    assert names.flat(names.nested({name: value})) == {name: value}


def test_what_is_said_by_today_s_names_is_understood_too() -> None:
    both = {"voice": "alba", "audio": {"output": {"speed": 1.1}, "input": None}, "turn_detection": None}
    assert names.nested(both) == {
        "audio": {"output": {"speed": 1.1, "voice": "alba"}, "input": {"turn_detection": None}}
    }


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("session.audio.input.turn_detection.threshold", "session.turn_detection.threshold"),
        ("session.audio.output.format", "session.output_audio_format"),
        ("session.max_output_tokens", "session.max_response_output_tokens"),
        ("session.instructions", "session.instructions"),
        ("response.output_modalities", "response.output_modalities"),
        (None, None),
    ],
)
def test_an_error_points_to_the_member_that_the_client_sent(named: str | None, told: str | None) -> None:
    assert names.parameter(named) == told
