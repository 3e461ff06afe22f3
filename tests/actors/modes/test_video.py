"""Streaming video: which images are kept and asked about, and how questions and streams end."""

from __future__ import annotations

import pytest

from antiphon.actors.modes.video.commands import AppendSound, Finish, Query, Show
from antiphon.actors.modes.video.hearing import MOST_BYTES
from antiphon.actors.modes.video.sampling import Invalid, checked
from antiphon.actors.modes.video.seeing import MOST_BYTES as MOST_IMAGES
from antiphon.actors.session import commands as c
from antiphon.actors.session.effects import CancelStage
from antiphon.events.vocabulary import (
    ClientSeen,
    CommandRefused,
    EffectStarted,
    EpochAdvanced,
    InputAppended,
    ResponseCreated,
    ResponseEnded,
    SessionClosed,
    SessionExpired,
    StageOutputDropped,
    VideoFrameFiltered,
    VideoFrameReceived,
    VideoOptions,
)
from tests.actors.session.given import names, only

from .streams import Watched

UNFILTERED = VideoOptions(filter_threshold=None)


def numbered(talk: Watched, count: int) -> None:
    for n in range(count):
        talk.show(f"f{n}", pts_ms=n * 40)


def shown(talk: Watched) -> list[str]:
    """The images that the latest question was asked with."""
    return [one["frame_ids"] for one in talk.frames if one["type"] == "video.frames.consumed"][-1]


# --- which images are kept --------------------------------------------------------------------------------


@pytest.mark.parametrize(("threshold", "alike", "kept"), [
    (0.95, 0.9518, False), (0.95, 0.95, False), (0.95, 0.9483, True), (1.0, 1.0, False), (1.0, 0.9999, True),
    (0.0, 0.0, False), (None, None, True),
])  # fmt: skip
def test_an_image_that_is_at_least_so_similar_is_not_kept(
    threshold: float | None, alike: float | None, kept: bool
) -> None:
    talk = Watched(options=VideoOptions(filter_threshold=threshold))
    talk.show("first")
    happened = talk.show("second", alike=alike)
    assert names(happened) == ["VideoFrameReceived" if kept else "VideoFrameFiltered"]
    ack = talk.frames[-1]
    assert (ack["accepted"], ack.get("reason"), ack["buffered_frames"]) == (
        (True, None, 2) if kept else (False, "filtered", 1)
    )


def test_the_oldest_goes_for_one_more_and_the_acknowledgement_says_so() -> None:
    talk = Watched(options=VideoOptions(max_frames=2))
    for name in "abc":
        talk.show(name, pts_ms=7, capture_ts_ms="mine")
    ack = talk.frames[-1]
    assert (ack["buffered_frames"], ack["dropped_frame_id"]) == (2, "a")
    assert (ack["pts_ms"], ack["capture_ts_ms"]) == (7, "mine")
    assert [one.labels.frame_id for one in talk.own.kept] == ["b", "c"]


def test_of_an_image_without_an_id_nothing_is_said_and_it_is_kept_all_the_same() -> None:
    talk = Watched()
    talk.show()
    assert talk.frames == []
    assert len(talk.own.kept) == 1


def test_images_take_so_much_room_at_most_whatever_their_number() -> None:
    talk = Watched(options=VideoOptions(max_frames=256, filter_threshold=None))
    for n in range(9):
        talk.show(f"f{n}", size=5 * 1024 * 1024)
        assert sum(one.size for one in talk.own.kept) <= MOST_IMAGES
    assert len(talk.own.kept) == 6
    assert talk.own.kept[-1].labels.frame_id == "f8"


def test_what_cannot_be_decoded_is_acknowledged_and_then_has_failed_and_takes_nobodys_place() -> None:
    talk = Watched(options=VideoOptions(filter_threshold=None, max_frames=1))
    talk.show("good")
    talk.do(Show(image=None, size=9, labels=talk.own.kept[0].labels))
    ack, failed = talk.frames[-2:]
    assert (ack["type"], ack["accepted"]) == ("video.frame.ack", True)
    assert (failed["message"], failed["frame_id"], failed["fatal"]) == ("Frame decode failed", "good", False)
    assert len(talk.own.kept) == 1


def test_when_all_there_was_cannot_be_decoded_there_is_nothing_to_ask_about() -> None:
    talk = Watched(options=UNFILTERED)
    talk.do(Show(image=None, size=9))
    assert talk.refuses(Query(text="What?")).message == "No frames buffered"


# --- which images are asked about -------------------------------------------------------------------------


@pytest.mark.parametrize(("there", "wanted", "indices"), [
    (50, 4, [0, 12, 24, 49]), (5, 4, [0, 1, 2, 4]), (7, 4, [0, 1, 2, 6]), (8, 4, [0, 2, 4, 7]), (9, 1, [8]),
    (6, 2, [0, 5]), (3, 4, [0, 1, 2]),
])  # fmt: skip
def test_images_are_chosen_evenly_and_the_latest_is_among_them(
    there: int, wanted: int, indices: list[int]
) -> None:
    talk = Watched(options=VideoOptions(num_frames=wanted))
    numbered(talk, there)
    talk.ask()
    asked = talk.asked.conversation[-1].pieces[:-1]
    assert [piece.image for piece in asked] == [talk.own.kept[n].seq for n in indices]
    talk.say("It is.")
    consumed = talk.frames[-2]
    assert consumed["frame_ids"] == [f"f{n}" for n in indices]
    assert consumed["latest_pts_ms"] == (there - 1) * 40
    assert consumed["request_id"] == talk.frames[-3]["response_id"]


def test_an_image_that_failed_is_not_chosen_and_the_others_are_spread_as_if_it_had_not_been_there() -> None:
    talk = Watched(options=UNFILTERED)
    for n in range(50):
        if n == 12:
            talk.do(Show(image=None, size=3))
        else:
            talk.show(f"f{n}")
    talk.ask()
    talk.say("It is.")
    assert shown(talk) == ["f0", "f13", "f25", "f49"]


def test_images_that_come_during_an_answer_are_acknowledged_at_once_and_are_not_of_its_question() -> None:
    talk = Watched()
    talk.show("before")
    talk.ask()
    assert only(VideoFrameReceived, talk.show("meanwhile"))
    assert talk.frames[-1]["type"] == "video.frame.ack"
    talk.say("It is.")
    assert shown(talk) == ["before"]


def test_without_any_id_nobody_is_told_what_was_consumed() -> None:
    talk = Watched()
    talk.show(pts_ms=4)
    talk.answered("What?", "That.")
    assert talk.kinds() == ["response.start", "response.text.delta", "response.text.done"]


def test_an_answer_without_output_consumed_nothing_that_anybody_is_told_of() -> None:
    talk = Watched()
    talk.show("a")
    talk.ask()
    talk.finish()
    assert talk.kinds(1) == ["response.start", "response.text.done"]


# --- questions --------------------------------------------------------------------------------------------


def test_a_question_is_its_images_then_what_was_heard_then_its_words() -> None:
    talk = Watched(system="Be brief.")
    talk.show("a")
    talk.hear(3_200)
    talk.ask("What is it?", pcm=bytes(480), sent_bytes=320)
    asked = talk.asked
    image, sound, words = asked.conversation[-1].pieces
    assert image.image == talk.own.kept[0].seq
    assert (sound.from_sample, sound.until_sample) == (0, 2_400 + 240)
    assert words.text == "What is it?"
    assert (asked.verbatim, asked.instructions) == (True, "Be brief.")
    assert asked.sampling == {"mm_processor_kwargs": {"use_audio_in_video": True}}


def test_a_question_may_be_heard_only() -> None:
    talk = Watched(options=VideoOptions(audio_in_video=False))
    talk.show("a")
    talk.hear(3_200)
    talk.ask("")
    assert len(talk.asked.conversation[-1].pieces) == 2
    assert talk.asked.sampling == {}


def test_what_was_heard_is_of_one_question_only_also_when_that_fails() -> None:
    talk = Watched()
    talk.show("a")
    talk.hear(3_200)
    talk.ask()
    fail(talk)
    talk.ask()
    assert len(talk.asked.conversation[-1].pieces) == 2


def test_what_is_heard_beside_nothing_waits_for_the_first_question_with_images() -> None:
    talk = Watched()
    talk.hear(3_200)
    assert talk.refuses(Query(text="What?")).code == "no_frames"
    talk.show("a")
    talk.ask()
    assert len(talk.asked.conversation[-1].pieces) == 3


def test_too_much_sound_is_thrown_away_and_only_what_is_too_much_says_so() -> None:
    talk = Watched()
    talk.show("a")
    assert only(InputAppended, talk.hear(MOST_BYTES // 2))
    assert only(InputAppended, talk.hear(MOST_BYTES // 2))
    happened = talk.hear(2)
    assert [one.message for one in only(CommandRefused, happened)] == ["Audio buffer overflow"]
    assert not talk.do(AppendSound(pcm=bytes(480), sent_bytes=0)), "the end of what was thrown away"
    talk.ask()
    assert len(talk.asked.conversation[-1].pieces) == 2


def test_too_much_sound_with_a_question_leaves_the_question() -> None:
    talk = Watched()
    talk.show("a")
    talk.hear(MOST_BYTES)
    happened = talk.ask("What?", pcm=bytes(480), sent_bytes=320)
    assert names(happened)[:3] == ["InputCleared", "CommandRefused", "VideoQueried"]
    assert len(talk.asked.conversation[-1].pieces) == 2


def test_of_earlier_questions_the_model_knows_the_last_one_in_words() -> None:
    talk = Watched()
    talk.show("a")
    for n in (1, 2):
        talk.answered(f"Question {n}", f"Answer {n}.")
    talk.ask("Question 3")
    lines = talk.asked.conversation
    assert [(line.role, line.text) for line in lines] == [
        ("user", "Question 2"),
        ("assistant", "Answer 2."),
        ("user", "Question 3"),
    ]
    assert [len(line.pieces) for line in lines] == [0, 0, 2]


def test_a_question_that_failed_or_was_interrupted_is_not_remembered() -> None:
    talk = Watched()
    talk.show("a")
    talk.answered("Question 1", "Answer 1.")
    talk.ask("Question 2")
    talk.say("Perh")
    fail(talk)
    talk.ask("Question 3")
    talk.say("No")
    talk.ask("Question 4")
    assert [line.text for line in talk.asked.conversation] == ["Question 1", "Answer 1.", "Question 4"]


def test_however_many_questions_there_were_little_is_remembered_of_them() -> None:
    talk = Watched()
    talk.show("a")
    for n in range(20):
        talk.answered(f"Question {n}", f"Answer {n}.")
    assert len(talk.state.played) <= 2
    assert len(talk.state.entries) <= 2


def test_an_answer_from_outside_is_announced_before_it_is_asked() -> None:
    talk = Watched(must_not_repeat=True)
    talk.show("a")
    happened = talk.ask()
    assert only(EffectStarted, happened)
    assert talk.asked.conversation[-1].pieces


def fail(talk: Watched) -> None:
    active = talk.active
    word = {"operation": active.operation, "index": active.next_index, "epoch": talk.state.fence.epoch}
    talk.do(c.RecordFailure(code="llm_refused", message="HTTP 500", last=True, **word))


# --- sampling ---------------------------------------------------------------------------------------------


def test_the_model_is_told_the_parameters_of_the_first_stage() -> None:
    talk = Watched(
        options=VideoOptions(sampling=({"temperature": 0.2, "max_tokens": 9, "top_k": 4}, {"seed": 3}))
    )
    talk.show("a")
    talk.ask()
    assert talk.asked.sampling == {"temperature": 0.2, "max_tokens": 9, "top_k": 4}
    assert (talk.asked.max_output_tokens, talk.asked.temperature) == (9, 0.2)


def test_parameters_of_no_model_fail_the_question_and_nothing_begins() -> None:
    talk = Watched(options=VideoOptions(sampling=({"warmth": 1},)))
    talk.show("a")
    talk.hear(320)
    happened = talk.ask()
    assert not only(ResponseCreated, happened)
    assert talk.frames[-1]["message"].startswith("Failed to build request: ")
    assert talk.own.heard_bytes == 0


@pytest.mark.parametrize("entry", [
    {"temperature": "hot"}, {"temperature": -1}, {"temperature": True}, {"top_p": 2}, {"max_tokens": 0},
    {"stop": [1]}, {"seed": 1.5}, {"messages": []}, {"logit_bias": {"1": 200}}, {"ignore_eos": 1},
])  # fmt: skip
def test_a_parameter_that_no_server_takes_is_named(entry: dict) -> None:
    with pytest.raises(Invalid, match=next(iter(entry))):
        checked([{}, entry])


def test_parameters_that_say_nothing_say_nothing() -> None:
    assert checked(None) == checked([]) == checked([{"seed": None, "detokenize": True}]) == {}
    assert checked([{"stop": ["x"], "min_p": 0, "skip_special_tokens": False}]) == {
        "stop": ["x"],
        "min_p": 0,
        "skip_special_tokens": False,
    }


# --- how answers end --------------------------------------------------------------------------------------


def test_the_next_question_ends_the_answer_to_the_one_before_it() -> None:
    talk = Watched()
    talk.show("a")
    talk.ask("One")
    talk.say("The fir")
    old = talk.active
    since = len(talk.frames)
    happened = talk.ask("Two")
    assert names(happened)[:4] == ["EpochAdvanced", "ResponseEnded", "VideoQueried", "ResponseCreated"]
    assert len([one for one in talk.effects if isinstance(one, CancelStage)]) == 1
    done, start = talk.frames[since:]
    assert (done["type"], done["text"], done["status"]) == ("response.text.done", "The fir", "interrupted")
    assert start["type"] == "response.start"
    assert start["response_id"] != done["response_id"]
    late = {"operation": old.operation, "index": old.next_index, "epoch": old.fence.epoch}
    dropped = talk.do(c.RecordSpeech(text="st.", pcm=b"", last=False, **late))
    assert names(dropped) == [StageOutputDropped.__name__]


def test_an_interrupted_answer_that_had_audio_ends_that_too() -> None:
    talk = Watched(modalities=("text", "audio"))
    talk.show()
    talk.ask("One")
    talk.say("Hi", 200)
    talk.say(" there")
    talk.ask("Two")
    kinds = [(one["type"], one.get("text"), one.get("status")) for one in talk.frames]
    assert kinds == [
        ("response.start", None, None),
        ("response.text.delta", None, None),
        ("response.text.done", "Hi", None),
        ("response.output_audio.delta", None, None),
        ("response.text.delta", None, None),
        ("response.output_audio.done", None, "interrupted"),
        ("response.start", None, None),
    ]


def test_an_answer_that_fails_says_so_and_what_it_had_said() -> None:
    talk = Watched()
    talk.show()
    talk.answered("Question 1", "Answer 1.")
    since = len(talk.frames)
    talk.ask("Question 2")
    talk.say("Half an ans")
    fail(talk)
    start, delta, error, done = talk.frames[since:]
    assert (start["type"], delta["delta"]) == ("response.start", "Half an ans")
    assert (error["message"], error["code"], error["fatal"]) == (
        "Query processing failed",
        "llm_refused",
        False,
    )
    assert (done["type"], done["text"], done["status"]) == ("response.text.done", "Half an ans", "failed")
    talk.ask("Question 3")
    assert [line.text for line in talk.asked.conversation] == ["Question 1", "Answer 1.", "Question 3"]


def test_an_answer_that_does_not_stream_comes_at_its_end() -> None:
    talk = Watched(modalities=("text", "audio"))
    talk.show()
    talk.ask("What?", streams=False)
    for text in ("One ", "two ", "three."):
        talk.say(text, 100)
    talk.finish()
    assert talk.kinds() == [
        "response.start",
        "response.text.done",
        "response.output_audio.delta",
        "response.output_audio.done",
    ]
    assert talk.frames[1]["text"] == "One two three."


# --- how streams end --------------------------------------------------------------------------------------


def test_a_client_that_has_finished_hears_the_answer_to_its_end() -> None:
    talk = Watched()
    talk.show("a")
    talk.ask()
    talk.do(Finish())
    assert talk.state.phase == "open"
    assert not talk.show("b")
    assert not talk.ask("Ignored")
    assert not talk.hear(320)
    assert not talk.do(Finish())
    talk.say("It is.")
    happened = talk.finish()
    assert [type(one) for one in happened][-2:] == [ResponseEnded, SessionClosed]
    assert talk.kinds()[-2:] == ["response.text.done", "session.done"]


def test_a_client_that_has_finished_and_waits_for_nothing_is_let_go_at_once() -> None:
    talk = Watched()
    assert names(talk.do(Finish())) == ["VideoFinished", "SessionClosed"]
    assert talk.kinds() == ["session.done"]


def test_a_silent_client_is_let_go_after_a_minute() -> None:
    talk = Watched()
    talk.wait(30_000)
    talk.show()
    talk.wait(59_999)
    assert talk.state.phase == "open"
    assert only(SessionExpired, talk.wait(1))
    error = talk.frames[-1]
    assert (error["message"], error["fatal"]) == ("Idle timeout", True)


def test_nobody_is_idle_who_waits_for_an_answer_and_the_minute_begins_when_that_has_ended() -> None:
    talk = Watched()
    talk.show()
    talk.ask()
    for _ in range(9):
        talk.wait(10_000)
        talk.say("well, ")
    talk.finish()
    talk.wait(59_999)
    assert talk.state.phase == "open"
    talk.wait(1)
    assert talk.state.phase == "closed"


def test_signs_of_life_keep_a_stream_and_the_log_does_not_hold_each() -> None:
    talk = Watched()
    for _ in range(600):
        talk.do(c.KeepAlive(attachment=1))
        talk.now_ms += 200
    assert 100 < len(only(ClientSeen, talk.events)) <= 120
    talk.wait(50_000)
    assert talk.state.phase == "open"


@pytest.mark.parametrize(
    ("why", "reason"), [("lost", "disconnected"), ("closed", "client"), ("server", "shutdown")]
)
def test_a_stream_ends_with_its_connection_and_so_does_the_answer(why: str, reason: str) -> None:
    talk = Watched()
    talk.show()
    talk.ask()
    happened = talk.do(c.Detach(attachment=1, reason=why))
    assert [type(one).__name__ for one in happened] == ["ClientDetached", "ResponseEnded", "SessionClosed"]
    assert only(SessionClosed, happened)[0].reason == reason
    assert "session.done" not in talk.kinds()


def test_a_process_that_stops_ends_its_streams() -> None:
    assert only(SessionClosed, Watched().do(c.Park(reason="shutdown")))


def test_a_stage_that_sees_nothing_is_shown_nothing() -> None:
    talk = Watched(able={})
    assert talk.refuses(Show(image=c.Image("image/jpeg", b""), size=0)).code == "unsupported"


def test_the_facts_of_a_filtered_image_hold_how_similar_it_was() -> None:
    talk = Watched()
    talk.show()
    assert only(VideoFrameFiltered, talk.show(alike=0.97))[0].similarity == 0.97
    assert not only(EpochAdvanced, talk.events)
