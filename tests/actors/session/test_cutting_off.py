"""The contract's section 5.4: whatever cuts an answer off, and what of it is left."""

from __future__ import annotations

import pytest

from antiphon.actors.session import commands as c
from antiphon.actors.session import effects as e
from antiphon.actors.session.heard import heard_ms, is_playing
from antiphon.actors.session.refusals import ItemNotFound, NotSpeaking, UnknownResponse
from antiphon.events.ids import ResponseId
from antiphon.events.vocabulary import (
    AudioSpoken,
    Config,
    EpochAdvanced,
    InputCleared,
    OutputCleared,
    PlaybackEstimated,
    ResponseEnded,
    StageOutputDropped,
)

from .given import Talk, names, only, pcm


def speaking(ms: int = 2_000) -> Talk:
    """Half of an answer's audio is out, and the client has played 500 ms of it."""
    talk = Talk(detection=None)
    talk.do(c.CreateResponse())
    talk.say("One two three four. ", ms)
    talk.send(ms)
    talk.now_ms += 500
    return talk


def draining() -> Talk:
    """An answer is complete, and most of its audio is still to be played."""
    talk = speaking()
    talk.finish()
    return talk


CUTS: list[c.Command] = [c.CancelResponse(), c.BargeIn(), c.CancelInput(), c.ClearOutput()]


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: type(cut).__name__)
def test_case_10_after_a_cancel_of_any_kind_there_is_one_end_and_no_later_word(cut: c.Command) -> None:
    talk = speaking()
    operation, response, before = talk.active.operation, talk.active.response, talk.state.fence
    happened = talk.do(cut)
    assert names(happened)[0] == "EpochAdvanced"
    assert (talk.state.fence.epoch, talk.state.fence.response) == (before.epoch + 1, None)
    assert e.CancelStage(before, talk.state.fence) in talk.effects
    late = {"operation": operation, "index": 1, "epoch": before.epoch, "last": False}
    assert only(StageOutputDropped, talk.do(c.RecordSpeech(text="five", pcm=pcm(100), **late)))
    [ended] = talk.all(ResponseEnded)
    assert (ended.response, ended.outcome) == (response, "cancelled")
    assert only(AudioSpoken, talk.events[talk.events.index(ended) :]) == []


@pytest.mark.parametrize(
    ("cut", "reason"),
    [
        (c.CancelResponse(), "client_cancelled"),
        (c.BargeIn(), "barge_in"),
        (c.CancelInput(), "client_cancelled"),
        (c.ClearOutput(), "output_audio_buffer_clear"),
    ],
    ids=lambda one: str(one)[:20],
)
def test_an_answer_that_is_cut_off_says_why(cut: c.Command, reason: str) -> None:
    talk = speaking()
    assert [ended.reason for ended in only(ResponseEnded, talk.do(cut))] == [reason]


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: type(cut).__name__)
def test_what_was_heard_is_fixed_at_the_moment_of_the_cut(cut: c.Command) -> None:
    talk = speaking()
    talk.do(cut)
    assert [told.heard_ms for told in talk.all(PlaybackEstimated)] == [500]
    talk.wait(20_000)
    assert heard_ms(talk.state.played[0], talk.state.mono_ns) == 500


def test_case_11_a_barge_in_on_audio_that_drains_clears_it_and_ends_nothing_twice() -> None:
    talk = draining()
    response = talk.state.played[0].response
    happened = talk.do(c.BargeIn())
    assert names(happened) == ["EpochAdvanced", "PlaybackEstimated", "OutputCleared"]
    assert only(OutputCleared, happened)[0].response == response
    assert len(talk.all(ResponseEnded)) == 1
    assert not is_playing(talk.state.played[0])
    assert names(talk.do(c.BargeIn())) == ["EpochAdvanced"], "nothing plays any more"


def test_case_12_clearing_an_older_answer_leaves_the_newer_one_alone() -> None:
    talk = draining()
    older, epoch = talk.state.played[0].response, talk.state.fence.epoch
    talk.do(c.CreateResponse())
    newer = talk.active.response
    assert names(talk.do(c.ClearOutput(response=older)))[0] == "OutputCleared"
    assert talk.effects == []
    assert (talk.active.response, talk.state.fence.epoch) == (newer, epoch)
    talk.say("Still here.", 500)
    assert only(AudioSpoken, talk.events)[-1].response == newer


def test_clearing_audio_that_only_plays_moves_no_fence_and_asks_no_stage() -> None:
    talk = draining()
    happened = talk.do(c.ClearOutput())
    assert names(happened) == ["OutputCleared", "PlaybackEstimated"]
    assert talk.effects == []
    assert heard_ms(talk.state.played[0], talk.state.mono_ns) == 500


def test_clearing_output_says_so_before_the_answer_ends() -> None:
    talk = speaking()
    shown = [name for name in names(talk.do(c.ClearOutput())) if name != "PlaybackEstimated"]
    assert shown == ["EpochAdvanced", "OutputCleared", "ResponseEnded"]


def test_clearing_the_output_of_nothing_is_nothing_and_of_nobody_is_refused() -> None:
    talk = Talk(detection=None)
    assert talk.do(c.ClearOutput()) == []
    assert type(talk.refuses(c.ClearOutput(response=ResponseId("resp_x")))) is ItemNotFound


def test_case_13_an_idle_cancel_is_refused_and_one_of_nobody_is_refused_by_a_name_of_its_own() -> None:
    talk = Talk(detection=None)
    assert type(talk.refuses(c.CancelResponse())) is NotSpeaking
    assert type(talk.refuses(c.CancelResponse(response=ResponseId("resp_x")))) is UnknownResponse
    talk = draining()
    done = talk.state.played[0].response
    assert type(talk.refuses(c.CancelResponse())) is NotSpeaking
    assert type(talk.refuses(c.CancelResponse(response=done))) is NotSpeaking
    talk.do(c.CreateResponse())
    assert type(talk.refuses(c.CancelResponse(response=ResponseId("resp_x")))) is NotSpeaking


@pytest.mark.parametrize("playing", [False, True])
def test_a_cancel_keeps_uncommitted_input_and_a_barge_in_throws_it_away(playing: bool) -> None:
    for command, cleared in ((c.CancelResponse(), 0), (c.BargeIn(), 1), (c.CancelInput(), 1)):
        talk = draining() if playing else speaking()
        if playing and isinstance(command, c.CancelResponse):
            continue
        talk.do(c.AppendAudio(pcm=pcm(300)))
        assert len(only(InputCleared, talk.do(command))) == cleared
        assert (talk.state.buffer.open_from > 0) == bool(cleared)


def test_an_idle_barge_in_still_moves_the_fence_because_a_model_may_be_about_to_speak() -> None:
    talk = Talk(hears="continuously", detection=None)
    talk.do(c.AppendAudio(pcm=pcm(80)))
    operation = talk.state.buffer.submitted
    assert len(only(EpochAdvanced, talk.do(c.BargeIn()))) == 1
    word = {"operation": operation, "index": 0, "epoch": 0, "last": True}
    assert names(talk.do(c.RecordSpeech(text="Yes?", pcm=pcm(80), **word))) == ["StageOutputDropped"]


def test_case_29_the_epoch_moves_by_one_and_never_back() -> None:
    talk = speaking()
    talk.do(c.BargeIn(), c.CancelInput(), c.BargeIn())
    moved = [(one.cancelled.epoch, one.next.epoch) for one in talk.all(EpochAdvanced)]
    assert moved == [(0, 1), (1, 2), (2, 3)]
    stale = {"operation": talk.stored[5].seq, "index": 9, "epoch": 1, "last": True}
    talk.do(c.RecordSpeech(text="late", pcm=b"", **stale))
    assert talk.state.fence.epoch == 3


def test_an_answer_cut_off_in_a_session_that_is_acknowledged_is_heard_as_far_as_that() -> None:
    talk = Talk(detection=None, config=Config(playback="ack_only"))
    talk.do(c.CreateResponse())
    talk.say("abcdefgh", 1_000)
    talk.send(1_000)
    talk.do(c.AcknowledgePlayback(heard_ms=500), c.BargeIn())
    assert talk.all(PlaybackEstimated) == []
    assert talk.conversation == [("assistant", "abcd")]
