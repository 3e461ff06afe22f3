"""The contract's section 7: clients that say what was heard, in whatever order they say it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.actors.session import commands as c
from antiphon.actors.session.heard import heard_ms, heard_text
from antiphon.actors.session.refusals import PlaybackMismatch, PlaybackNotFound
from antiphon.events.ids import ItemId, ResponseId
from antiphon.events.vocabulary import (
    Config,
    Item,
    ItemTruncated,
    Part,
    PlaybackAcknowledged,
    PlaybackEstimated,
    PlaybackPolicy,
)

from .given import Talk, names, only


def answered(policy: PlaybackPolicy = "ack_only", **how: Any) -> Talk:
    """Case 16's answer: 12 characters in the first second, 11 in the second."""
    talk = Talk(detection=None, config=Config(playback=policy), **how)
    talk.do(c.CreateResponse())
    talk.say("hello world ", 1_000)
    talk.say("how are you", 1_000)
    talk.finish()
    talk.send(2_000)
    return talk


def user_says(talk: Talk, text: str) -> None:
    item = Item(id=ItemId(""), role="user", content=(Part(kind="input_text", text=text),))
    talk.do(c.AddItem(item=item))


def heard(talk: Talk) -> int:
    return heard_ms(talk.state.played[0], talk.state.mono_ns)


def test_case_15_a_cancelled_answer_keeps_the_prefix_heard_and_its_words_stay_in_the_log() -> None:
    talk = Talk(detection=None, config=Config(playback="ack_only"))
    talk.do(c.CreateResponse())
    talk.say("abcdefgh", 1_000)
    talk.send(1_000)
    item = talk.active.item
    talk.do(c.AcknowledgePlayback(heard_ms=500, item=item), c.CancelResponse())
    assert talk.text_of(item) == "abcd"
    assert "".join(mark.text for mark in talk.state.played[0].marks) == "abcdefgh"


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, ""),
        (999, "hello world"),
        (1_000, "hello world"),
        (1_500, "hello world how a"),
        (1_999, "hello world how are yo"),
        (2_000, "hello world how are you"),
        (9_000, "hello world how are you"),
    ],
)
def test_case_16_what_was_heard_is_the_very_character(ms: int, text: str) -> None:
    talk = answered()
    talk.do(c.AcknowledgePlayback(heard_ms=ms))
    assert talk.text_of(talk.state.played[0].item) == text


def test_case_17_an_acknowledgement_of_nothing_and_a_late_one_of_all_fill_the_slot_before_the_user() -> None:
    talk = answered()
    talk.do(c.AcknowledgePlayback(heard_ms=0))
    user_says(talk, "and you?")
    assert talk.conversation == [("user", "and you?")]
    talk.do(c.AcknowledgePlayback(heard_ms=2_000))
    assert talk.conversation == [("assistant", "hello world how are you"), ("user", "and you?")]


def test_case_18_a_first_acknowledgement_after_the_user_went_on_is_no_error_and_fills_its_own_slot() -> None:
    talk = answered()
    user_says(talk, "and you?")
    assert names(talk.do(c.AcknowledgePlayback(heard_ms=2_000))) == ["PlaybackAcknowledged"]
    assert [role for role, _ in talk.conversation] == ["assistant", "user"]


def test_case_19_an_item_that_is_not_the_response_s_and_a_response_that_never_was() -> None:
    talk = answered()
    response, item = talk.state.played[0].response, talk.state.played[0].item
    ask = c.AcknowledgePlayback
    assert type(talk.refuses(ask(heard_ms=1, response=response, item=ItemId("x")))) is PlaybackMismatch
    assert type(talk.refuses(ask(heard_ms=1, response=ResponseId("x"), item=item))) is PlaybackNotFound
    assert type(talk.refuses(ask(heard_ms=1, item=ItemId("x")))) is PlaybackNotFound
    assert type(Talk(detection=None).refuses(ask(heard_ms=1))) is PlaybackNotFound


def test_case_20_a_truncation_holds_whatever_is_acknowledged_later() -> None:
    talk = answered()
    talk.do(c.TruncateItem(item=talk.state.played[0].item, audio_end_ms=700))
    happened = talk.do(c.AcknowledgePlayback(heard_ms=2_000))
    assert names(happened) == ["PlaybackAcknowledged"]
    assert heard(talk) == 700
    assert talk.conversation == [("assistant", "hello wo")]
    talk.do(c.TruncateItem(item=talk.state.played[0].item, audio_end_ms=1_500))
    assert heard(talk) == 700


@pytest.mark.parametrize("name", ["response", "item", "both", "neither"])
def test_an_answer_is_named_by_itself_by_its_item_by_both_or_by_being_played(name: str) -> None:
    talk = answered()
    played = talk.state.played[0]
    named = {"response": played.response, "item": played.item}
    given_ = {"both": named, "neither": {}}.get(name, {name: named.get(name)})
    [told] = only(PlaybackAcknowledged, talk.do(c.AcknowledgePlayback(heard_ms=300, **given_)))  # type: ignore[arg-type]
    assert told.response == played.response


def test_without_a_name_it_is_the_one_answer_that_still_plays_and_else_the_latest() -> None:
    talk = answered()
    talk.do(c.CreateResponse())
    talk.do(c.AcknowledgePlayback(heard_ms=900))
    assert talk.all(PlaybackAcknowledged)[-1].response == talk.state.played[0].response
    talk.say("More. ", 500)
    talk.do(c.AcknowledgePlayback(heard_ms=100))
    assert talk.all(PlaybackAcknowledged)[-1].response == talk.state.played[1].response


def test_what_was_played_is_kept_beside_what_counts_as_heard() -> None:
    talk = answered()
    talk.do(c.AcknowledgePlayback(heard_ms=800, played_ms=1_200), c.AcknowledgePlayback(heard_ms=100))
    played = talk.state.played[0]
    assert (played.played_ms, played.acknowledged_ms, heard(talk)) == (1_200, 800, 800)


def test_each_acknowledgement_is_a_fact_of_its_own_to_clients_that_are_answered() -> None:
    talk = answered()
    again = c.AcknowledgePlayback(heard_ms=800)
    assert names(talk.do(again, again)) == ["PlaybackAcknowledged"] * 2
    assert names(talk.do(c.AcknowledgePlayback(heard_ms=300))) == ["PlaybackAcknowledged"]
    assert heard(talk) == 800


def test_an_acknowledgement_that_truncates_takes_back_what_counted_as_heard() -> None:
    talk = answered()
    talk.do(c.AcknowledgePlayback(heard_ms=2_000))
    assert names(talk.do(c.AcknowledgePlayback(heard_ms=500, truncate=True))) == ["ItemTruncated"]
    assert talk.all(ItemTruncated)[0].item == talk.state.played[0].item
    assert heard(talk) == 500
    talk.do(c.AcknowledgePlayback(heard_ms=2_000))
    assert heard(talk) == 500


# --- policies ---------------------------------------------------------------------------------------------


def test_of_a_client_that_promised_to_acknowledge_nothing_is_assumed() -> None:
    talk = answered("ack_only")
    talk.wait(60_000)
    user_says(talk, "hello?")
    talk.do(c.CreateResponse())
    assert talk.all(PlaybackEstimated) == []
    assert talk.conversation == [("user", "hello?")]


def test_what_is_done_counts_whole_if_that_is_the_policy_unless_a_part_was_acknowledged() -> None:
    talk = answered("commit_all_on_done")
    assert talk.conversation == [("assistant", "hello world how are you")]
    talk.do(c.AcknowledgePlayback(heard_ms=500))
    assert talk.conversation == [("assistant", "hello")]
    talk.do(c.AcknowledgePlayback(heard_ms=2_000))
    assert talk.conversation == [("assistant", "hello world how are you")]
    assert talk.all(PlaybackEstimated) == []


@pytest.mark.parametrize("policy", ["ack_only", "commit_all_on_done"])
def test_of_a_cancelled_answer_only_what_was_acknowledged_counts(policy: PlaybackPolicy) -> None:
    talk = Talk(detection=None, config=Config(playback=policy))
    talk.do(c.CreateResponse())
    talk.say("hello world ", 1_000)
    talk.send(1_000)
    talk.do(c.CancelResponse())
    assert talk.conversation == []
    talk.do(c.AcknowledgePlayback(heard_ms=500))
    assert talk.conversation == [("assistant", "hello")]


@pytest.mark.parametrize("policy", ["estimate", "ack_only", "commit_all_on_done"])
def test_an_answer_out_of_band_never_enters_the_history_however_much_was_heard(
    policy: PlaybackPolicy,
) -> None:
    talk = Talk(detection=None, config=Config(playback=policy))
    talk.do(c.CreateResponse(in_history=False))
    talk.say("hello world ", 1_000)
    talk.finish()
    talk.send(1_000)
    talk.do(c.AcknowledgePlayback(heard_ms=1_000))
    assert talk.conversation == []


def test_a_policy_holds_for_the_answers_that_begin_under_it() -> None:
    talk = answered("ack_only")
    talk.do(c.Configure(playback="estimate"))
    talk.wait(60_000)
    assert heard(talk) == 0
    assert talk.all(PlaybackEstimated) == []


def test_text_without_audio_of_its_own_is_heard_with_the_audio_that_follows_it() -> None:
    talk = Talk(detection=None, config=Config(playback="ack_only"))
    talk.do(c.CreateResponse())
    talk.say("abcd", 0)
    talk.say("efgh", 1_000)
    talk.do(c.AcknowledgePlayback(heard_ms=250))
    item = talk.active.item
    assert talk.text_of(item) == "ab"
    talk.do(c.AcknowledgePlayback(heard_ms=750))
    assert talk.text_of(item) == "abcdef"


ACKS = st.lists(
    st.tuples(st.sampled_from(["heard", "truncate", "cut"]), st.integers(0, 2_500)), min_size=1, max_size=6
)


@given(acks=ACKS, order=st.randoms(use_true_random=False))
def test_acknowledgements_in_any_order_come_to_the_same_text(acks: list[tuple[str, int]], order: Any) -> None:
    def text_after(said: list[tuple[str, int]]) -> str:
        talk = answered()
        for kind, ms in said:
            talk.do(
                c.TruncateItem(item=talk.state.played[0].item, audio_end_ms=ms)
                if kind == "truncate"
                else c.AcknowledgePlayback(heard_ms=ms, truncate=kind == "cut")
            )
        return heard_text(talk.state.played[0], 0)

    shuffled = list(acks)
    order.shuffle(shuffled)
    assert text_after(acks) == text_after(shuffled)


def test_no_acknowledgement_takes_a_character_away() -> None:
    for policy in ("ack_only", "commit_all_on_done"):
        talk = answered(policy)  # type: ignore[arg-type]
        before = ""
        for ms in itertools.chain(range(10, 2_000, 130), (2_000,)):
            talk.do(c.AcknowledgePlayback(heard_ms=ms))
            after = heard_text(talk.state.played[0], 0)
            assert after.startswith(before)
            before = after
