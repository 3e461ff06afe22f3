"""What a native client is shown of this and that, and that it is what a duplex client is shown of the same."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.actors.session import commands as c
from antiphon.events.ids import ItemId
from antiphon.events.vocabulary import Config, Item, Part
from antiphon.projections.dialects import DIALECTS
from tests.actors.session.acts import DUPLEX_ACTS
from tests.actors.session.duplex import ASKED, BY_ITSELF, InUnits
from tests.actors.session.given import Talk, pcm
from tests.actors.session.test_any_conversation import DUPLEX, Conversation, Kind, conversations

from .duplex_laws import frames_of
from .native_laws import check
from .test_duplex_frames import looking
from .test_duplex_laws import EXAMPLES, acted_out

Frames = list[dict[str, Any]]


def shown(talk: Talk) -> Frames:
    frames = frames_of(talk.stored, DIALECTS["native"])
    check(frames)
    return frames


def of(kind: str, frames: Frames) -> Frames:
    return [frame for frame in frames if frame["type"] == kind]


def kinds(frames: Frames) -> list[str]:
    return [frame["type"] for frame in frames]


def answered(talk: Talk | None = None) -> Talk:
    """One spoken answer, from the asking to its end."""
    talk = talk or Talk(detection=None)
    talk.do(c.CreateResponse())
    talk.say("Hello ", 400)
    talk.say("there.", 200)
    talk.finish()
    return talk


def test_a_spoken_answer_is_words_and_audio_then_its_item_then_its_end() -> None:
    frames = shown(answered())
    answer = frames[kinds(frames).index("response.created") :]
    audio = "response.output_audio.delta"
    assert kinds(answer) == [
        "response.created", "response.speak", audio, audio, audio, audio, audio,
        "response.output_item.done", "response.done",
    ]  # fmt: skip
    deltas = of(audio, answer)
    assert [delta["text"] for delta in deltas] == ["Hello ", "", "", "there.", ""]
    assert [delta["audio_duration_ms"] for delta in deltas] == [0, 200, 400, 400, 600]
    assert [delta["audio"] for delta in deltas] == [""] * 5, "the attachment fills them in"
    [item] = of("response.output_item.done", answer)
    assert (item["text"], item["item"]["content"][0]["transcript"]) == ("Hello there.", "Hello there.")
    assert (answer[-1]["status"], answer[-1]["reason"]) == ("completed", None)


def test_an_answer_in_writing_has_no_audio_and_does_not_speak() -> None:
    talk = Talk(detection=None, modalities=("text",))
    talk.do(c.CreateResponse())
    talk.say("Hello.", 0)
    talk.finish()
    frames = shown(talk)
    assert kinds(frames)[-4:] == [
        "response.created",
        "response.text.delta",
        "response.output_item.done",
        "response.done",
    ]
    assert frames[-4]["modalities"] == ["text"]


def test_an_answer_that_is_cut_off_has_one_end_and_its_item_is_what_was_heard() -> None:
    talk = Talk(detection=None, config=Config(playback="ack_only"))
    talk.do(c.CreateResponse())
    talk.say("Hello there.", 400)
    response = talk.active.response
    talk.do(c.AcknowledgePlayback(heard_ms=0, played_ms=0, response=response))
    talk.do(c.CancelResponse())
    frames = shown(talk)
    assert not of("response.done", frames)
    [end] = of("audio.cancelled", frames)
    assert (end["reason"], end["cancelled_epoch"], end["epoch"]) == ("client_cancelled", 0, 1)
    assert (end["committed_ms"], end["playback"]["generated_ms"]) == (0, 400)
    [item] = of("response.output_item.done", frames)
    assert (item["text"], item["item"]["content"][0]["transcript"]) == ("Hello there.", "")


def test_cancelled_input_and_cleared_input_are_two_things() -> None:
    talk = InUnits(config=ASKED)
    for command, told in (
        (c.ClearInput(), ["input_audio_buffer.cleared"]),
        (c.CancelInput(), ["input.cancelled"]),
        (c.ClearInput(), ["input_audio_buffer.cleared"]),
    ):
        talk.talk_for(300)
        before = len(shown(talk))
        talk.do(command)
        assert kinds(shown(talk)[before:]) == told
    [cancelled] = of("input.cancelled", shown(talk))
    assert cancelled["epoch"] == 1


def test_a_commit_names_its_item_unless_it_makes_none() -> None:
    talk = InUnits(config=ASKED)
    talk.talk_for(1_000)
    talk.commit(respond=False)
    talk.talk_for(1_000, speech=False)
    talk.commit(respond=False)
    kept, silent = of("input.committed", shown(talk))
    assert (kept["is_speech"], kept["no_response"], "empty" in kept) == (True, True, False)
    assert kept["realtime_item_id"].startswith("item_")
    assert (silent["is_speech"], "realtime_item_id" in silent) == (False, False)
    [listen] = of("response.listen", shown(talk))
    assert (listen["reason"], listen["model_listen"], "response_id" in listen) == (
        "silence_or_noise",
        False,
        False,
    )


def test_what_was_understood_and_what_was_not() -> None:
    talk = Talk(detection=None, config=Config(transcription=True))
    for fails in (False, True):
        talk.do(c.AppendAudio(pcm=pcm(1_000)), c.CommitInput(any_length=True))
        if fails:
            word = {"operation": talk.state.input.recognitions[-1].operation, "index": 0, "epoch": 0}
            talk.do(c.RecordFailure(code="deaf", message="what?", last=True, **word))
        else:
            talk.understand("Hello?")
    good, bad = of("input.transcribed", shown(talk))
    assert (good["transcript"], "error" in good) == ("Hello?", False)
    assert (bad["transcript"], bad["error"]) == ("", "deaf")


def test_a_function_call_is_one_frame() -> None:
    frames = shown(looking())
    [call] = of("function_call.done", frames)
    assert (call["call_id"], call["name"], call["arguments"]) == ("call_1", "look", '{"at": "sky"}')
    [item] = of("response.output_item.done", frames)
    assert item["item_id"] != call["item_id"]


def test_an_item_that_a_client_puts_in_and_the_opening_of_the_session_are_told_once() -> None:
    talk = answered()
    content = (Part(kind="input_text", text="Go on."),)
    talk.do(c.AddItem(item=Item(id=ItemId(""), role="user", content=content), previous=ItemId("")))
    frames = shown(talk)
    [created] = of("conversation.item.created", frames)
    assert created["item"]["content"][0]["text"] == "Go on."
    assert len(of("session.created", frames)) == 1
    assert not of("session.updated", frames)


def test_an_error_is_flat_and_names_the_clients_own_frame() -> None:
    talk = Talk(detection=None, config=ASKED)
    talk.refuses(c.CancelResponse(client_event="mine"))
    [error] = of("error", shown(talk))
    assert (error["code"], error["client_event_id"], error["retryable"]) == (
        "response_not_active",
        "mine",
        False,
    )
    assert error["session_id"] == talk.state.id
    assert isinstance(error["error"], str)


WORDS = ("response.output_audio_transcript.delta", "response.output_text.delta")


def said(frames: Frames) -> dict[str, tuple[str, int, list[str]]]:
    """Of each response: its words, how long it is, and how it ended."""
    words: defaultdict[str, str] = defaultdict(str)
    ms: defaultdict[str, int] = defaultdict(int)
    ends: defaultdict[str, list[str]] = defaultdict(list)
    for frame in frames:
        match frame:
            case {"type": kind, "response_id": name, "delta": str(delta)} if kind in WORDS:
                words[name] += delta
            case {"type": "response.text.delta", "response_id": name, "delta": delta}:
                words[name] += delta
            case {"type": "response.output_audio.delta", "response_id": name}:
                words[name] += frame.get("text", "")
                ms[name] = frame.get("metadata", frame)["audio_duration_ms"]
            case {"type": "response.done", "response_id": name}:
                ends[name].append(frame.get("response", frame)["status"])
            case {"type": "audio.cancelled", "response_id": name}:
                ends[name].append("cancelled")
    return {name: (words[name], ms[name], ends[name]) for name in {*words, *ms, *ends}}


@settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kind=st.sampled_from(DUPLEX), acts=conversations(DUPLEX_ACTS))
def test_both_dialects_say_the_same_of_any_conversation(kind: Kind, acts: Conversation) -> None:
    talk = acted_out(kind, acts)
    assert said(frames_of(talk.stored, DIALECTS["native"])) == said(frames_of(talk.stored))
    assert meaning("native", talk) == meaning("duplex", talk)


def meaning(dialect: str, talk: Talk) -> list[bytes]:
    """What the digest of meanings is made of."""
    projection, meant = DIALECTS[dialect], []
    view = projection.begin(1)
    for stored in talk.stored:
        view, frames = projection.step(view, stored)
        meant += [projection.meaning(frame, stored) for frame in frames]
    return [one for one in meant if one]


def test_frames_with_words_audio_or_an_end_mean_something() -> None:
    assert [len(one) for one in meaning("native", answered())] == [6, 4, 4, 6, 4, len("completed")]


def test_a_model_that_answers_by_itself_tells_the_end_of_its_turn() -> None:
    talk = InUnits(config=BY_ITSELF)
    talk.talk_for(1_000)
    talk.model_says("One. ", last=False)
    talk.model_ends_its_turn()
    [turn] = of("turn.event", shown(talk))
    assert (turn["event"], turn["model_turn_id"]) == ("model_turn_ended", 0)
