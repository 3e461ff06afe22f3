"""Architecture, section 6; pains B: what was heard, and the history that follows from it."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.actors.session import commands as c
from antiphon.actors.session.heard import full_text, heard_ms, heard_text
from antiphon.actors.session.playback import move
from antiphon.actors.session.refusals import InvalidValue, PlaybackNotFound
from antiphon.actors.session.state import Mark, Played
from antiphon.events.ids import ItemId, ResponseId
from antiphon.events.units import Millis, Samples, ms_to_samples, samples_to_ms
from antiphon.events.vocabulary import (
    AudioSent,
    Event,
    FramesSent,
    Item,
    ItemTruncated,
    Part,
    PlaybackAcknowledged,
    PlaybackEstimated,
)

from .given import SILENCE, Talk, names, only

TEXT = "one two three four five six seven eight nine ten"
"""Spoken in 10 s by `answered`."""


def answered(ms: int = 10_000, sent: int | None = None) -> tuple[Talk, ResponseId]:
    talk = Talk()
    response = talk.answer(TEXT, ms)
    talk.send(ms if sent is None else sent)
    return talk, response


def heard(talk: Talk, response: ResponseId) -> int:
    played = talk.state.playback(response)
    assert played is not None
    return heard_ms(played, talk.state.mono_ns)


def acknowledge(talk: Talk, response: ResponseId, ms: int) -> list[Event]:
    return talk.do(c.AcknowledgePlayback(response=response, heard_ms=ms))


def truncate(talk: Talk, ms: int) -> list[Event]:
    return talk.do(c.TruncateItem(item=talk.state.played[-1].item, audio_end_ms=ms))


# --- acknowledgements -------------------------------------------------------------------------------------


def test_cursors_take_the_maximum_of_acknowledgements_that_come_late_twice_and_out_of_order() -> None:
    talk, response = answered()
    for ms in (3_000, 1_000, 3_000, 5_000, 4_000):
        acknowledge(talk, response, ms)
    assert heard(talk, response) == 5_000
    assert [one.heard_ms for one in talk.all(PlaybackAcknowledged)] == [3_000, 5_000]


def test_what_was_acknowledged_already_is_no_event_when_said_again() -> None:
    talk, response = answered()
    acknowledge(talk, response, 3_000)
    assert acknowledge(talk, response, 3_000) == []


def test_a_late_acknowledgement_fills_its_own_slot_and_is_never_an_error() -> None:
    talk, first = answered()
    talk.answer("Something else.", 1_000)
    acknowledge(talk, first, 1_500)
    assert talk.conversation[0] == ("assistant", "one two")
    assert talk.state.entries[0].response == first


def test_nobody_hears_more_than_was_generated() -> None:
    talk, response = answered(1_000)
    acknowledge(talk, response, 57_340)
    assert heard(talk, response) == 1_000


def test_an_acknowledgement_of_a_response_that_never_was_is_refused() -> None:
    talk, _ = answered()
    refusal = talk.refuses(c.AcknowledgePlayback(response=ResponseId("resp_x"), heard_ms=1))
    assert type(refusal) is PlaybackNotFound


def test_the_first_real_acknowledgement_switches_that_response_to_acknowledgements() -> None:
    talk, response = answered(4_000)
    talk.wait(5_000)
    assert heard(talk, response) == 4_000  # the estimate
    acknowledge(talk, response, 1_000)
    assert heard(talk, response) == 1_000


def test_a_response_that_is_acknowledged_is_not_estimated() -> None:
    talk, response = answered(4_000)
    acknowledge(talk, response, 1_000)
    talk.wait(10_000)
    assert talk.all(PlaybackEstimated) == []


# --- the estimate -----------------------------------------------------------------------------------------


def test_a_client_that_never_acknowledges_has_heard_the_whole_text_when_its_audio_would_have_played_out() -> (
    None
):
    talk, response = answered(4_000)
    assert talk.wait(3_999) == []
    assert names(talk.wait(1)) == ["PlaybackEstimated"]
    assert heard(talk, response) == 4_000
    assert talk.conversation == [("assistant", TEXT)]


def test_the_playout_timer_follows_from_the_log_alone() -> None:
    talk, response = answered(4_000)
    talk.state = talk.restarted()
    talk.open_writer()
    talk.wait(4_000)
    assert [one.response for one in talk.all(PlaybackEstimated)] == [response]


def test_on_barge_in_what_was_heard_is_the_time_since_the_first_audio_if_more_was_sent() -> None:
    talk, response = answered(10_000, sent=8_000)
    talk.now_ms += 2_500
    talk.hear(96)
    assert heard(talk, response) == 2_500 + 64  # the third window of speech breaks in


def test_on_barge_in_what_was_heard_is_what_was_sent_if_more_time_has_passed() -> None:
    talk, response = answered(10_000, sent=1_500)
    talk.now_ms += 4_000
    talk.hear(96)
    assert heard(talk, response) == 1_500


def test_a_reply_interrupted_at_one_second_keeps_only_the_words_whose_audio_began_before() -> None:
    """Pain 17."""
    talk, _ = answered(10_000)
    talk.now_ms += 1_000 - 64
    talk.hear(96)
    assert talk.conversation == [("assistant", "one two")]


def test_the_estimate_is_appended_at_the_latest_before_the_next_response_is_created() -> None:
    talk, response = answered(10_000)
    talk.now_ms += 3_000
    happened = talk.do(c.CreateResponse())
    assert names(happened)[:2] == ["PlaybackEstimated", "ResponseCreated"]
    assert heard(talk, response) == 3_000


def test_a_response_that_plays_on_beside_the_next_one_is_heard_whole_in_the_end() -> None:
    talk, response = answered(10_000)
    talk.now_ms += 3_000
    talk.do(c.CreateResponse())
    talk.wait(7_000)
    assert heard(talk, response) == 10_000


def test_nothing_is_estimated_of_what_was_never_sent() -> None:
    talk = Talk()
    response = talk.answer(ms=4_000)
    talk.wait(60_000)
    assert talk.all(PlaybackEstimated) == []
    talk.do(c.CreateResponse())
    assert heard(talk, response) == 0


def test_a_new_boot_means_that_what_was_sent_has_played() -> None:
    talk, response = answered(4_000, sent=3_000)
    talk.boot, talk.now_ms = "boot-2", 60_000
    talk.open_writer()
    talk.do(c.CreateResponse())
    assert heard(talk, response) == 3_000


# --- truncation -------------------------------------------------------------------------------------------


def test_truncation_is_a_permanent_cap_that_only_falls() -> None:
    talk, response = answered()
    truncate(talk, 4_000)
    truncate(talk, 6_000)
    assert heard(talk, response) == 4_000
    truncate(talk, 2_000)
    acknowledge(talk, response, 9_000)
    talk.wait(20_000)
    assert heard(talk, response) == 2_000


def test_truncate_overrides_the_estimate_and_the_acknowledgements() -> None:
    talk, response = answered()
    acknowledge(talk, response, 8_000)
    truncate(talk, 1_000)
    assert heard(talk, response) == 1_000


def test_a_wildly_large_truncation_is_clamped_to_what_was_generated() -> None:
    """Pain 12."""
    talk, response = answered(9_250)
    [cut] = only(ItemTruncated, truncate(talk, 57_340))
    assert cut.audio_end_ms == 9_250
    assert heard(talk, response) == 9_250


def test_after_a_truncation_neither_retrieve_nor_the_next_prompt_contains_more() -> None:
    """Pain 16."""
    talk, _ = answered(10_000)
    truncate(talk, 1_500)
    item = talk.state.played[0].item
    talk.do(c.CreateResponse())
    [effect] = talk.effects
    [line] = effect.conversation  # type: ignore[attr-defined]
    assert (line.role, line.text) == ("assistant", "one two")
    assert talk.text_of(item) == "one two"


def test_truncating_a_text_only_answer_is_answered_and_takes_no_word_away() -> None:
    """Pains 7 and 18."""
    talk = Talk(modalities=("text",))
    talk.answer("Read me.", 0)
    assert names(truncate(talk, 0)) == ["ItemTruncated"]
    assert talk.conversation == [("assistant", "Read me.")]


def test_only_an_assistant_s_item_can_be_truncated() -> None:
    talk = Talk()
    item = Item(id=ItemId("u"), role="user", content=(Part(kind="input_text", text="hi"),))
    talk.do(c.AddItem(item=item))
    assert type(talk.refuses(c.TruncateItem(item=ItemId("u"), audio_end_ms=0))) is InvalidValue


def test_a_truncation_of_an_item_that_the_client_itself_added_is_no_error() -> None:
    """Pain 7: a replayed history has no audio."""
    talk = Talk()
    item = Item(id=ItemId("a"), role="assistant", content=(Part(kind="output_text", text="hi"),))
    talk.do(c.AddItem(item=item))
    [cut] = only(ItemTruncated, talk.do(c.TruncateItem(item=ItemId("a"), audio_end_ms=900)))
    assert (cut.audio_end_ms, cut.response) == (0, None)
    assert talk.conversation == [("assistant", "hi")]


# --- sent -------------------------------------------------------------------------------------------------


def test_reports_of_what_was_sent_may_repeat_and_never_exceed_what_was_generated() -> None:
    talk = Talk()
    talk.do(c.CreateResponse())
    talk.say("one", 1_000)
    assert names(talk.send(5_000)) == ["FramesSent"]
    assert talk.all(FramesSent)[-1].audio[0].until_sample == ms_to_samples(1_000)
    assert talk.send(5_000) == []
    assert talk.send(400) == []


def test_the_first_report_dates_the_response_and_a_later_one_does_not_move_it() -> None:
    talk, response = answered(4_000, sent=200)
    talk.now_ms += 1_000
    talk.do(talk.report(response, ms_to_samples(4_000), talk.moment.mono_ns))
    assert names(talk.wait(3_000)) == ["PlaybackEstimated"]


# --- one history ------------------------------------------------------------------------------------------


def test_a_response_s_place_in_the_history_is_where_it_was_created() -> None:
    talk = Talk()
    talk.do(c.CreateResponse())
    item = Item(id=ItemId("u"), role="user", content=(Part(kind="input_text", text="meanwhile"),))
    talk.do(c.AddItem(item=item))
    talk.say("First.", 500)
    talk.finish()
    talk.send(500)
    talk.wait(500)
    assert talk.conversation == [("assistant", "First."), ("user", "meanwhile")]


def test_a_spoken_answer_that_was_cancelled_before_its_audio_came_was_not_heard() -> None:
    talk = Talk()
    talk.do(c.CreateResponse())
    talk.say("Text that never became sound.", 0)
    item = talk.active.item
    talk.do(c.CancelResponse())
    assert talk.conversation == []
    assert talk.text_of(item) == ""


def test_a_text_only_answer_is_heard_as_far_as_it_was_shown() -> None:
    talk = Talk(modalities=("text",))
    talk.do(c.CreateResponse())
    talk.say("So far ", 0)
    talk.do(c.CancelResponse())
    assert talk.conversation == [("assistant", "So far ")]


def test_audio_for_a_text_only_answer_is_not_kept() -> None:
    talk = Talk(modalities=("text",))
    talk.answer("Only words.", 2_000)
    assert "AudioSpoken" not in names(talk.events)
    assert talk.conversation == [("assistant", "Only words.")]


def test_an_answer_out_of_band_is_not_part_of_the_conversation() -> None:
    talk = Talk(modalities=("text",))
    talk.do(c.CreateResponse(in_history=False))
    talk.say("A summary.")
    talk.finish()
    assert talk.conversation == []


def test_a_user_who_is_not_understood_is_left_out_and_the_turn_goes_on() -> None:
    talk = Talk()
    talk.hear(400)
    talk.hear(256, SILENCE)
    [recognition] = talk.state.input.recognitions
    talk.hear(400, SILENCE)
    happened = talk.do(
        c.RecordFailure(
            operation=recognition.operation, index=0, epoch=0, last=True, code="engine_error", message="x"
        )
    )
    assert names(happened) == ["UnitRefused", "InputTranscribed", "UnitSubmitted"]
    assert talk.conversation == []


# --- laws -------------------------------------------------------------------------------------------------


RESPONSE = ResponseId("resp")
MS = st.integers(0, 3_000)

MOVES = st.lists(
    st.one_of(
        MS.map(lambda ms: PlaybackAcknowledged(response=RESPONSE, heard_ms=Millis(ms))),
        MS.map(lambda ms: PlaybackEstimated(response=RESPONSE, heard_ms=Millis(ms))),
        MS.map(lambda ms: ItemTruncated(item=ItemId("i"), response=RESPONSE, audio_end_ms=Millis(ms))),
        st.tuples(MS, MS).map(lambda t: AudioSent(RESPONSE, Samples(ms_to_samples(t[0])), t[1] * 1_000_000)),
    ),
    max_size=8,
)


def spoken() -> Played:
    marks = (Mark(0, "one two "), Mark(ms_to_samples(700), "three four "), Mark(ms_to_samples(1_500), "five"))
    return Played(RESPONSE, ItemId("i"), generated=ms_to_samples(2_000), marks=marks, ended=True)


@given(events=MOVES, rng=st.randoms(use_true_random=False))
def test_cursors_do_not_depend_on_the_order_or_number_of_arrivals(events: list[Event], rng) -> None:  # type: ignore[no-untyped-def]
    again = events + [rng.choice(events) for _ in range(3)] if events else []
    rng.shuffle(again)
    straight, shuffled = spoken(), spoken()
    for event in events:
        straight = move(straight, event)
    for event in again:
        shuffled = move(shuffled, event)
    assert straight == shuffled
    assert 0 <= heard_ms(straight, 10**10) <= samples_to_ms(straight.generated)


@given(first=MS, second=MS)
def test_hearing_more_never_takes_a_word_away(first: int, second: int) -> None:
    less, more = sorted((first, second))
    texts = [
        heard_text(move(spoken(), PlaybackAcknowledged(response=RESPONSE, heard_ms=Millis(ms))), 0)
        for ms in (less, more)
    ]
    assert texts[1].startswith(texts[0])
    assert full_text(spoken()).startswith(texts[1])


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_whatever_is_reported_first_the_same_was_heard(order: tuple[int, ...]) -> None:
    talk, response = answered()
    steps = [
        lambda: acknowledge(talk, response, 6_000),
        lambda: truncate(talk, 3_000),
        lambda: talk.wait(12_000),
    ]
    for step in order:
        steps[step]()
    assert heard(talk, response) == 3_000
