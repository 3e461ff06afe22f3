"""Voice hysteresis and turn taking (pains E): the same on every machine, because scores are data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.actors.session import commands as c
from antiphon.actors.session.hysteresis import Crossing, walk
from antiphon.actors.session.state import Voice
from antiphon.events.ids import ItemId
from antiphon.events.units import ms_to_samples, samples_to_ms
from antiphon.events.vocabulary import (
    Event,
    InputCommitted,
    InputTranscribed,
    SpeechStarted,
    SpeechStopped,
    TurnDetection,
    UnitSubmitted,
)

from .given import HESITATION, SILENCE, SPEECH, VAD, WINDOW, Talk, names, only, pcm

STOPS = -(-VAD.silence_duration_ms // 32)
"""Windows of silence that end a turn."""


def crossings(*permille: int, detection: TurnDetection = VAD) -> list[tuple[str, int]]:
    """Where one unbroken walk over the windows changes its mind, in windows."""
    voice, seen = Voice(), []
    for k, score in enumerate(permille):
        voice, crossed = walk(voice, detection, (k + 1) * WINDOW, WINDOW, (score,))
        for crossing in crossed:
            seen.append((crossing.what, crossing.sample // WINDOW))
            if crossing.what != "paused":
                speaking = ItemId("item") if crossing.what == "started" else None
                voice = Voice(
                    voice.scored, voice.onset, voice.run, voice.silence, speaking, paused=voice.paused
                )
    return seen


def started(events: list[Event]) -> list[SpeechStarted]:
    return only(SpeechStarted, events)


# --- hysteresis -------------------------------------------------------------------------------------------


def test_speech_starts_when_speech_windows_add_up_to_the_minimum_and_is_dated_to_the_first() -> None:
    assert crossings(SILENCE, SPEECH, SPEECH, SPEECH) == [("started", 1)]
    assert crossings(SILENCE, SPEECH, SPEECH, SILENCE, SPEECH, SPEECH) == []


def test_a_hesitation_neither_starts_speech_nor_breaks_its_beginning() -> None:
    assert crossings(*[HESITATION] * 40) == []
    assert crossings(SPEECH, HESITATION, SPEECH, HESITATION, SPEECH) == [("started", 0)]


def test_a_score_at_the_threshold_is_speech_and_one_at_the_lower_edge_is_not_silence() -> None:
    assert crossings(500, 500, 500) == [("started", 0)]
    assert crossings(500, 350, 500, 350, 500) == [("started", 0)]
    assert crossings(500, 349, 500, 349, 500) == []


def test_speech_stops_after_the_silence_and_the_silence_belongs_to_it() -> None:
    seen = crossings(*[SPEECH] * 5, *[SILENCE] * STOPS)
    assert seen == [("started", 0), ("paused", 5 + 7), ("stopped", 5 + STOPS)]


def test_a_hesitation_keeps_the_silence_running_but_cannot_close_the_turn() -> None:
    speech = [SPEECH] * 5
    assert ("stopped", 5 + STOPS) not in crossings(*speech, *[HESITATION] * STOPS)
    assert crossings(*speech, *[HESITATION] * STOPS, SILENCE)[-1] == ("stopped", 5 + STOPS + 1)


def test_one_window_of_speech_sets_the_silence_back() -> None:
    almost = [SILENCE] * (STOPS - 1)
    seen = crossings(*[SPEECH] * 5, *almost, SPEECH, *almost)
    assert "stopped" not in [what for what, _ in seen]
    assert [what for what, _ in seen] == ["started", "paused", "paused"]


def test_a_turn_without_an_end_is_closed_after_two_minutes_and_understood_to_its_last_word() -> None:
    talk = Talk()
    happened = talk.hear(121_000)
    [stopped] = only(SpeechStopped, happened)
    assert samples_to_ms(stopped.until_sample) == 120_000
    [asked] = [unit for unit in only(UnitSubmitted, happened) if unit.work == "recognise"]
    assert asked.until_sample == stopped.until_sample


@given(scores=st.lists(st.integers(0, 1000), max_size=120), cuts=st.lists(st.integers(1, 9), max_size=40))
def test_how_the_scores_are_packed_changes_nothing(scores: list[int], cuts: list[int]) -> None:
    """One message with all windows, or many: the same starts and stops of the same samples."""
    single, packed = Talk(), Talk()
    for talk in (single, packed):
        for _ in scores:
            talk.do(c.AppendAudio(pcm=b"\x01\x00" * WINDOW))
    for score in scores:
        single.score(score)
    rest = list(scores)
    for cut in cuts:
        if rest:
            packed.score(*rest[:cut])
            rest = rest[cut:]
    if rest:
        packed.score(*rest)
    places = [
        [(type(e).__name__, getattr(e, "from_sample", 0), getattr(e, "until_sample", 0)) for e in facts]
        for facts in (
            [e for e in talk.events if isinstance(e, SpeechStarted | SpeechStopped | InputCommitted)]
            for talk in (single, packed)
        )
    ]
    assert places[0] == places[1]


@given(scores=st.lists(st.sampled_from([SPEECH, SILENCE, HESITATION]), max_size=200))
def test_starts_and_stops_take_turns(scores: list[int]) -> None:
    whats = [what for what, _ in crossings(*scores) if what != "paused"]
    assert whats == ["started", "stopped"] * (len(whats) // 2) + ["started"] * (len(whats) % 2)


def test_scores_said_twice_count_once() -> None:
    talk = Talk()
    talk.hear(64)
    again = c.RecordScores(until_sample=2 * WINDOW, window=WINDOW, permille=(SPEECH, SPEECH))
    assert talk.do(again) == []
    assert started(talk.hear(32))


def test_crossings_say_what_and_where() -> None:
    _, crossed = walk(Voice(), VAD, 3 * WINDOW, WINDOW, (SPEECH,) * 3)
    assert crossed == [Crossing("started", 0)]


# --- utterances -------------------------------------------------------------------------------------------


def test_the_committed_audio_starts_the_prefix_padding_before_the_onset() -> None:
    """Pain 37."""
    talk = Talk()
    talk.hear(960, SILENCE)
    talk.utterance()
    [begun], [committed] = talk.all(SpeechStarted), talk.all(InputCommitted)
    assert samples_to_ms(begun.onset_sample) == 960
    assert samples_to_ms(begun.from_sample) == samples_to_ms(committed.from_sample) == 660


def test_the_padding_never_reaches_into_what_was_committed_before() -> None:
    talk = Talk()
    talk.utterance()
    talk.hear(64, SILENCE)
    talk.hear(400)
    assert talk.all(SpeechStarted)[1].from_sample == talk.all(InputCommitted)[0].until_sample


def test_utterance_k_is_the_same_alone_and_as_the_kth() -> None:
    """Pain 36."""
    alone, kth = Talk(), Talk()
    for _ in range(4):
        kth.utterance(ms=640)
        kth.hear(1_600, SILENCE)
    offset = kth.state.buffer.appended
    alone.hear(1_600, SILENCE)
    shift = offset - alone.state.buffer.appended

    def edges(talk: Talk) -> tuple[int, int, int]:
        happened = talk.utterance(ms=480)
        begun, stopped = started(happened)[0], only(SpeechStopped, happened)[0]
        return begun.onset_sample, begun.from_sample, stopped.until_sample

    assert edges(kth) == tuple(edge + shift for edge in edges(alone))


def test_two_sessions_side_by_side_do_not_affect_each_other() -> None:
    """Pain 36."""
    one, other, alone = Talk(), Talk(session="sess_2"), Talk()
    for _ in range(6):
        one.hear(32)
        other.hear(32, SILENCE)
        alone.hear(32)
    assert names(one.events) == names(alone.events)
    assert started(other.events) == []


def test_speech_stops_by_a_timer_when_the_client_stops_sending() -> None:
    """Pain 37."""
    talk = Talk()
    talk.hear(400)
    assert talk.wait(500 + 250 - 33) == []
    happened = talk.wait(100)
    assert only(SpeechStopped, happened)[0].by == "timer"
    assert only(InputCommitted, happened)[0].until_sample == talk.state.buffer.appended
    assert talk.state.turns.active is not None


def test_a_client_that_stops_sending_in_mid_speech_is_understood_to_its_last_word() -> None:
    talk = Talk()
    talk.hear(400)
    talk.hear(256, SILENCE)
    talk.understand("only the first")
    talk.hear(400)  # more words, and then nothing at all
    happened = talk.wait(1_000)
    assert only(InputTranscribed, happened) == []
    recognition = talk.state.input.recognitions[-1]
    assert recognition.until == talk.state.buffer.appended
    assert [text.text for text in only(InputTranscribed, talk.understand("the first and the rest"))] == [
        "the first and the rest"
    ]


def test_scores_that_come_after_a_late_stop_start_nothing_in_what_was_committed() -> None:
    talk = Talk()
    talk.hear(400)
    talk.do(c.AppendAudio(pcm=pcm(640)))  # its scores are late
    talk.wait(1_000)
    late = c.RecordScores(
        until_sample=talk.state.buffer.appended, window=WINDOW, permille=(SPEECH,) * 12 + (SILENCE,) * 8
    )
    assert started(talk.do(late)) == []
    froms_and_untils = [(one.from_sample, one.until_sample) for one in talk.all(InputCommitted)]
    assert all(start < until for start, until in froms_and_untils)


def test_scores_that_come_after_a_manual_commit_start_nothing_in_it() -> None:
    talk = Talk()
    talk.do(c.AppendAudio(pcm=pcm(960)))
    talk.do(c.CommitInput())
    late = c.RecordScores(until_sample=30 * WINDOW, window=WINDOW, permille=(SPEECH,) * 30)
    assert started(talk.do(late)) == []


def test_what_was_said_before_the_detector_was_switched_on_starts_nothing() -> None:
    talk = Talk(detection=None)
    talk.do(c.AppendAudio(pcm=pcm(960)), c.CommitInput())
    talk.do(c.Configure(turn_detection=VAD))
    talk.open_writer()
    assert [type(effect).__name__ for effect in talk.effects if type(effect).__name__ == "HearAgain"] == []


def test_a_change_of_other_settings_in_mid_speech_loses_no_word() -> None:
    """Pain 38: speech_started without speech_stopped."""
    talk = Talk()
    talk.hear(400)
    talk.do(c.Configure(instructions="be brief"))
    talk.hear(200)
    talk.hear(700, SILENCE)
    [begun], [stopped] = talk.all(SpeechStarted), talk.all(SpeechStopped)
    assert begun.item == stopped.item
    assert talk.all(InputCommitted)[0].from_sample == 0


def test_switching_the_detector_off_in_mid_speech_leaves_the_audio_to_the_client() -> None:
    talk = Talk()
    talk.hear(400)
    talk.do(c.Configure(turn_detection=None))
    assert talk.wait(5_000) == []
    assert only(InputCommitted, talk.do(c.CommitInput()))[0].from_sample == 0


def test_what_is_recognised_in_the_silence_wait_is_used_at_the_commit() -> None:
    talk = Talk()
    happened = names(talk.utterance("good morning"))
    commit = happened.index("InputCommitted")
    assert happened[commit - 1 : commit + 4] == [
        "SpeechStopped",
        "InputCommitted",
        "InputTranscribed",
        "ResponseCreated",
        "UnitSubmitted",
    ]
    assert talk.conversation == [("user", "good morning")]
    assert len([unit for unit in talk.all(UnitSubmitted) if unit.work == "recognise"]) == 1


def test_a_recognition_that_speech_overtook_is_not_used() -> None:
    talk = Talk()
    talk.hear(400)
    talk.hear(256, SILENCE)
    talk.hear(400)  # before the answer came
    talk.hear(256, SILENCE)
    first, second = [unit for unit in talk.all(UnitSubmitted) if unit.work == "recognise"]
    assert first.item == second.item
    assert first.until_sample < second.until_sample
    assert len(talk.state.input.recognitions) == 1


def test_a_recognition_said_twice_is_one_fact() -> None:
    talk = Talk()
    talk.hear(400)
    talk.hear(256, SILENCE)
    [recognition] = talk.state.input.recognitions
    word = c.RecordHeard(text="hello", operation=recognition.operation, index=0, epoch=0, last=True)
    assert names(talk.do(word)) == ["UnitCompleted"]
    assert talk.do(word) == []


@pytest.mark.parametrize("ms", [0, 99])
def test_less_than_100_ms_cannot_be_committed(ms: int) -> None:
    talk = Talk(detection=None)
    talk.do(c.AppendAudio(pcm=pcm(ms)))
    assert talk.refuses(c.CommitInput()).code == "input_audio_buffer_commit_empty"


def test_a_commit_takes_everything_since_the_last_one_and_a_clear_takes_it_away() -> None:
    talk = Talk(detection=None)
    talk.do(c.AppendAudio(pcm=pcm(500)), c.ClearInput(), c.AppendAudio(pcm=pcm(300)), c.CommitInput())
    [committed] = talk.all(InputCommitted)
    assert (committed.from_sample, committed.until_sample) == (ms_to_samples(500), ms_to_samples(800))
    assert committed.by == "client"


def test_a_microphone_that_stays_open_is_no_mistake_and_a_commit_takes_the_last_five_minutes() -> None:
    talk = Talk(detection=None)
    for _ in range(7):
        talk.do(c.AppendAudio(pcm=pcm(60_000)))
    talk.do(c.CommitInput())
    [committed] = talk.all(InputCommitted)
    assert (committed.from_sample, committed.until_sample) == (ms_to_samples(120_000), ms_to_samples(420_000))
    [asked] = [unit for unit in talk.all(UnitSubmitted) if unit.work == "recognise"]
    assert (asked.from_sample, asked.until_sample) == (committed.from_sample, committed.until_sample)


def test_a_commit_after_hours_of_silence_takes_what_a_stage_can_be_given() -> None:
    talk = Talk()
    for _ in range(7):
        talk.do(c.AppendAudio(pcm=pcm(60_000)))
    talk.do(c.CommitInput())
    [committed] = talk.all(InputCommitted)
    assert committed.until_sample - committed.from_sample == ms_to_samples(300_000)


def test_a_detector_that_is_behind_is_waited_for_before_speech_is_taken_to_be_over() -> None:
    talk = Talk()
    talk.hear(400)
    talk.do(c.AppendAudio(pcm=pcm(60_000)))  # all at once, and then the client falls silent
    talk.wait(700)
    talk.score(*[SPEECH] * 10)
    assert talk.wait(700) == []
    assert names(talk.wait(100)) == [
        "UnitSubmitted",
        "SpeechStopped",
        "InputCommitted",
        "ResponseCreated",
    ]
