"""The contract's section 8 and 5.1: input in units, as a transaction each."""

from __future__ import annotations

import pytest

from antiphon.actors.session import commands as c
from antiphon.actors.session import effects as e
from antiphon.actors.session.refusals import Backpressure, CommitAborted, UpdateAborted
from antiphon.actors.session.units import prepare
from antiphon.events.vocabulary import (
    CommandRefused,
    ConfigProposed,
    ConfigRefused,
    InputCommitted,
    ModelListened,
    ResponseCreated,
    ResponseEnded,
    StageOutputDropped,
    TextSpoken,
    TurnEnded,
    UnitCompleted,
    UnitRefused,
    UnitSubmitted,
)

from .duplex import JPEG, InUnits, message
from .given import names, only, pcm

# --- a stream ---------------------------------------------------------------------------------------------


def test_chunks_of_any_length_are_cut_into_whole_units_without_a_commit() -> None:
    talk = InUnits()
    for _ in range(11):
        talk.talk_for(200)
        if not talk.is_idle:
            talk.model_listens()
    assert talk.given == [(0, 1_000, 0), (1_000, 2_000, 0)]
    assert talk.all(InputCommitted) == []


def test_one_unit_is_with_the_stage_at_a_time_and_the_next_follows_its_end() -> None:
    talk = InUnits()
    talk.talk_for(3_500)
    assert talk.given == [(0, 1_000, 0)]
    happened = talk.model_listens()
    assert names(happened) == ["ModelListened", "UnitCompleted", "UnitSubmitted"]
    talk.model_says()
    talk.unit_ends()
    assert talk.given == [(0, 1_000, 0), (1_000, 2_000, 0), (2_000, 3_000, 0)]
    assert talk.is_idle, "half a unit waits for its rest"


def test_a_unit_s_audio_its_images_and_its_place_reach_the_stage() -> None:
    talk = InUnits()
    talk.talk_for(400, images=(JPEG,))
    talk.talk_for(600)
    talk.talk_for(100, images=(JPEG, JPEG))
    [submit] = [effect for effect in talk.effects if isinstance(effect, e.SubmitUnit)] or [None]
    assert submit is None, "the unit was given with the chunk before"
    first = talk.unit
    assert (first.from_sample, first.until, len(first.images)) == (0, 24_000, 1)
    talk.model_listens()
    talk.talk_for(900)
    assert len(talk.unit.images) == 2


def test_an_image_at_the_end_of_a_unit_belongs_to_the_next() -> None:
    talk = InUnits()
    talk.talk_for(2_000)
    talk.do(c.AppendAudio(pcm=b"", images=(JPEG,)))
    talk.talk_for(1_000)
    talk.model_listens()
    assert (talk.given[-1], talk.unit.images) == ((1_000, 2_000, 0), ())
    talk.model_listens()
    assert len(talk.unit.images) == 1


def test_the_first_visible_word_opens_a_response_and_listening_does_not() -> None:
    talk = InUnits()
    talk.talk_for(2_000)
    assert "ResponseCreated" not in names(talk.model_listens())
    assert names(talk.model_says())[0] == "ResponseCreated"
    assert not talk.all(ResponseCreated)[0].asked


def test_a_unit_without_output_opens_no_response_and_ends_none() -> None:
    talk = InUnits()
    talk.talk_for(3_000)
    assert names(talk.do(c.RecordSpeech(text="", pcm=b"", **talk.word()))) == [
        "UnitCompleted",
        "UnitSubmitted",
    ]
    talk.model_says()
    assert names(talk.do(c.RecordSpeech(text="", pcm=b"", **talk.word()))) == ["UnitCompleted"]
    assert talk.active


def test_a_response_that_the_model_began_ends_when_it_goes_back_to_listening() -> None:
    talk = InUnits()
    talk.talk_for(3_000)
    talk.model_says("one ")
    talk.model_says("two ")
    happened = talk.model_listens()
    response = talk.all(ResponseCreated)[0].response
    assert only(ModelListened, happened)[0].response == response
    [ended] = only(ResponseEnded, happened)
    assert (ended.response, ended.outcome) == (response, "completed")
    assert [spoken.text for spoken in talk.all(TextSpoken)] == ["one ", "two "]


def test_buffering_is_no_decision_and_ends_nothing() -> None:
    talk = InUnits()
    talk.talk_for(2_000)
    talk.model_says()
    assert names(talk.model_listens("buffering")) == ["ModelListened", "UnitCompleted"]
    assert talk.active


def test_the_model_s_turn_ends_its_response_inside_a_unit_and_what_follows_is_another() -> None:
    talk = InUnits()
    talk.talk_for(1_000)
    talk.model_says("Bye. ", 300, last=False)
    assert names(talk.model_ends_its_turn()) == ["TurnEnded", "ResponseEnded"]
    assert names(talk.model_says("Hello? ", 300))[0] == "ResponseCreated"
    assert [ended.turn for ended in talk.all(TurnEnded)] == [0]
    talk.talk_for(1_000)
    talk.model_ends_its_turn()
    assert [ended.turn for ended in talk.all(TurnEnded)] == [0, 1], "wherever commits and answers stand"


def test_the_model_s_turn_may_end_without_a_response() -> None:
    talk = InUnits()
    talk.talk_for(1_000)
    assert names(talk.model_ends_its_turn()) == ["TurnEnded"]
    assert names(talk.model_listens()) == ["ModelListened", "UnitCompleted"]


def test_a_client_may_be_ahead_of_the_stage_but_not_for_ever() -> None:
    talk = InUnits()
    for _ in range(6):
        talk.talk_for(60_000)
    assert type(talk.refuses(c.AppendAudio(pcm=pcm(10)))) is Backpressure
    talk.do(c.ClearInput())
    talk.talk_for(10)


def test_an_answer_to_a_text_ends_when_the_stage_says_so_whatever_becomes_of_the_model_s_turn() -> None:
    talk = InUnits(reads=True)
    talk.do(message("hello"), c.CreateResponse())
    talk.say("Hello.", 100)
    word = {"operation": talk.active.operation, "index": 1, "epoch": 0, "last": False}
    assert names(talk.do(c.RecordTurnEnd(**word))) == ["TurnEnded"]
    talk.finish()
    assert [ended.outcome for ended in talk.all(ResponseEnded)] == ["completed"]


# --- commits ----------------------------------------------------------------------------------------------


def test_a_partial_unit_is_filled_up_only_at_a_commit_and_ends_the_turn() -> None:
    talk = InUnits()
    talk.talk_for(1_300)
    talk.model_listens()
    assert talk.is_idle
    talk.commit()
    assert talk.given[-1] == (1_000, 1_300, 700)
    assert talk.unit.final


def test_case_7_a_commit_on_the_boundary_is_accepted_and_submits_no_extra_unit() -> None:
    talk = InUnits()
    talk.talk_for(1_000)
    talk.model_listens()
    assert names(talk.commit()) == ["InputCommitted"]
    assert talk.given == [(0, 1_000, 0)]


def test_a_commit_behind_whole_units_makes_the_last_of_them_final() -> None:
    talk = InUnits()
    talk.talk_for(2_000)
    talk.commit()
    assert not talk.unit.final
    talk.model_listens()
    assert (talk.unit.final, talk.given[-1]) == (True, (1_000, 2_000, 0))


def test_what_comes_after_a_commit_begins_a_unit_of_its_own() -> None:
    talk = InUnits()
    talk.talk_for(1_300)
    talk.commit()
    talk.talk_for(1_000)
    talk.model_listens()
    talk.model_listens()
    assert talk.given == [(0, 1_000, 0), (1_000, 1_300, 700), (1_300, 2_300, 0)]


def test_a_stream_that_is_committed_without_an_answer_goes_on_as_it_was() -> None:
    talk = InUnits()
    talk.talk_for(300)
    talk.commit(respond=False)
    talk.talk_for(700)
    assert talk.given == [(0, 1_000, 0)]
    assert not talk.unit.final


def test_a_commit_that_is_not_final_gives_the_model_all_of_it_and_the_turn_goes_on() -> None:
    talk = InUnits()
    talk.talk_for(1_300)
    talk.model_listens()
    [committed] = only(InputCommitted, talk.commit(final=False))
    assert (committed.outcome, committed.final) == ("kept", False)
    assert talk.given[-1] == (1_000, 1_300, 700)
    assert (talk.unit.final, talk.unit.force_listen) == (False, False)
    talk.model_listens()
    assert talk.state.last_item == committed.item
    assert not talk.state.units.awaiting, "nobody is asked to go on"
    talk.talk_for(300)
    talk.commit()
    assert (talk.given[-1], talk.unit.final) == ((1_300, 1_600, 700), True)


def test_on_the_boundary_a_commit_that_is_not_final_gives_nothing_more() -> None:
    talk = InUnits()
    talk.talk_for(1_000)
    talk.model_listens()
    assert names(talk.commit(final=False)) == ["InputCommitted"]
    assert talk.wait(5_000) == []


def test_without_auto_response_what_is_not_final_waits_to_be_asked_about_like_what_is() -> None:
    talk = InUnits(auto=False)
    talk.talk_for(400)
    talk.commit(final=False)
    talk.talk_for(400)
    assert names(talk.commit(respond=True)) == ["InputCommitted", "ResponseCreated", "UnitSubmitted"]
    assert (talk.given[-1], talk.unit.final) == ((0, 400, 600), False)
    talk.model_listens()
    assert (talk.given[-1], talk.unit.final) == ((400, 800, 600), True)


def test_cleared_input_is_not_given() -> None:
    talk = InUnits()
    talk.talk_for(400)
    talk.do(c.ClearInput())
    talk.talk_for(1_000)
    assert talk.given == [(400, 1_400, 0)]


# --- answers that are asked for ---------------------------------------------------------------------------


def test_without_auto_response_nothing_is_given_before_an_answer_is_asked_for() -> None:
    talk = InUnits(auto=False)
    talk.talk_for(2_300)
    talk.commit()
    assert talk.given == []
    happened = talk.do(c.CreateResponse())
    assert names(happened) == ["ResponseCreated", "UnitSubmitted"]
    assert (talk.unit.final, talk.unit.force_listen) == (False, True), "it is asked at the end, not before"
    talk.model_listens()
    talk.model_listens()
    assert talk.given == [(0, 1_000, 0), (1_000, 2_000, 0), (2_000, 2_300, 700)]
    assert (talk.unit.final, talk.unit.force_listen) == (True, False)


def test_a_commit_that_asks_for_its_answer_precreates_it() -> None:
    talk = InUnits(auto=False)
    talk.talk_for(1_000)
    assert names(talk.commit(respond=True)) == ["InputCommitted", "ResponseCreated", "UnitSubmitted"]
    assert talk.unit.final


def test_several_items_are_given_together_each_filled_up_and_only_the_last_is_final() -> None:
    talk = InUnits(auto=False)
    for ms in (400, 1_200):
        talk.talk_for(ms)
        talk.commit()
    talk.do(c.CreateResponse())
    finals = []
    for _ in range(3):
        finals.append(talk.unit.final)
        talk.model_listens()
    assert talk.given == [(0, 400, 600), (400, 1_400, 0), (1_400, 1_600, 800)]
    assert finals == [False, False, True]


def test_input_that_was_never_committed_stays_out_of_an_answer_that_is_asked_for() -> None:
    talk = InUnits(auto=False)
    talk.talk_for(500)
    talk.do(c.ClearInput())
    talk.talk_for(500)
    talk.commit()
    talk.talk_for(500)
    talk.do(c.CreateResponse())
    assert talk.given == [(500, 1_000, 500)]


def test_a_cancel_drops_what_was_committed_and_not_given_and_keeps_open_input() -> None:
    talk = InUnits(auto=False)
    talk.talk_for(3_000)
    talk.commit(respond=True)
    talk.talk_for(400)
    talk.do(c.CancelResponse())
    assert talk.is_idle
    talk.commit(respond=True)
    assert talk.given == [(0, 1_000, 0), (3_000, 3_400, 600)]


# --- failures ---------------------------------------------------------------------------------------------


def test_case_30_preparing_changes_nothing_and_what_failed_comes_first_again() -> None:
    talk = InUnits()
    talk.talk_for(900)
    ready = talk.state
    assert prepare(ready) is None
    talk.talk_for(1_300)
    assert prepare(talk.state) is None, "one is under way: nothing else can be prepared on the same base"
    talk.unit_fails()
    assert prepare(talk.state) is None, "nothing goes out before the client says more"
    talk.talk_for(100)
    talk.model_listens()
    assert talk.given == [(0, 1_000, 0), (0, 1_000, 0), (1_000, 2_000, 0)]


def test_case_30_an_operation_that_is_answered_twice_is_answered_once() -> None:
    talk = InUnits()
    talk.talk_for(1_000)
    again = c.RecordSpeech(text="well ", pcm=pcm(500), **talk.word(last=False))
    end = c.RecordFinish(why="done", **{**talk.word(), "index": 1})
    talk.do(again, end)
    assert talk.do(again, end) == []
    assert len(talk.all(TextSpoken)) == len(talk.all(UnitCompleted)) == 1


def test_prepared_twice_it_is_the_same_unit() -> None:
    talk = InUnits()
    talk.talk_for(1_000)
    talk.unit_fails()
    talk.state = talk.restarted()
    fresh = InUnits()
    fresh.talk_for(1_000)
    fresh.unit_fails()
    assert prepare(talk.state) == prepare(fresh.state)


def test_images_come_back_with_the_unit_they_belong_to() -> None:
    talk = InUnits()
    talk.talk_for(1_000, images=(JPEG,))
    images = talk.unit.images
    talk.unit_fails()
    talk.talk_for(50)
    assert talk.unit.images == images != ()


def test_case_31_a_commit_that_waits_behind_a_failed_unit_is_aborted_and_so_is_the_next() -> None:
    talk = InUnits()
    talk.talk_for(2_300)
    talk.commit(client_event="evt_commit")
    happened = talk.unit_fails()
    [told] = only(CommandRefused, happened)
    assert (told.code, told.client_event) == ("commit_aborted", "evt_commit")
    talk.do(c.AppendAudio(pcm=b""))
    talk.state = talk.restarted()
    assert type(talk.refuses(c.CommitInput(any_length=True))) is not CommitAborted, (
        "there is nothing to commit"
    )


def test_case_31_the_input_of_an_aborted_commit_is_given_all_the_same_and_ends_no_turn() -> None:
    talk = InUnits()
    talk.talk_for(2_300)
    talk.commit()
    talk.talk_for(200, speech=False)
    talk.commit()
    talk.unit_fails()
    talk.talk_for(1_000)
    finals = []
    for _ in range(4):
        finals.append(talk.unit.final)
        talk.model_listens()
    assert talk.given[1:] == [(0, 1_000, 0), (1_000, 2_000, 0), (2_000, 2_300, 700), (2_500, 3_500, 0)]
    assert finals == [False] * 4


def test_case_31_a_commit_after_a_failed_unit_is_refused_until_the_next_append() -> None:
    talk = InUnits()
    talk.talk_for(1_300)
    talk.unit_fails()
    assert type(talk.refuses(c.CommitInput(any_length=True))) is CommitAborted
    talk.talk_for(100)
    talk.commit()
    talk.model_listens()
    assert talk.given == [(0, 1_000, 0), (0, 1_000, 0), (1_000, 1_400, 600)]


def test_case_31_an_update_that_waits_behind_a_failed_unit_is_aborted_and_so_is_the_next() -> None:
    talk = InUnits(confirms_config=True)
    talk.talk_for(1_000)
    talk.do(c.Configure(instructions="be brief", client_event="evt_update"))
    happened = talk.unit_fails()
    [told] = only(ConfigRefused, happened)
    assert (told.code, told.client_event) == ("session_update_aborted", "evt_update")
    assert type(talk.refuses(c.Configure(instructions="again"))) is UpdateAborted
    talk.talk_for(100)
    talk.model_listens()
    talk.do(c.Configure(instructions="again"))
    assert len(talk.all(ConfigProposed)) == 2
    assert talk.state.config.instructions == ""


def test_a_failed_unit_fails_the_answer_that_is_made_of_it_and_its_input_can_be_asked_about_again() -> None:
    talk = InUnits(auto=False)
    talk.talk_for(1_000)
    talk.commit(respond=True)
    happened = talk.unit_fails("context_full")
    [ended] = only(ResponseEnded, happened)
    assert (ended.outcome, ended.reason) == ("failed", "context_full")
    talk.talk_for(500)
    talk.commit(respond=True)
    talk.model_listens()
    assert talk.given == [(0, 1_000, 0), (0, 1_000, 0), (1_000, 1_500, 500)]


def test_a_unit_that_is_never_answered_is_given_up_and_what_it_says_later_is_void() -> None:
    talk = InUnits()
    talk.talk_for(1_000)
    late = talk.word()
    happened = talk.wait(30_000)
    assert names(happened) == ["EpochAdvanced", "UnitRefused"]
    assert only(UnitRefused, happened)[0].code == "stage_timeout"
    assert names(talk.do(c.RecordConsumed(**late))) == ["StageOutputDropped"]
    talk.talk_for(10)
    assert talk.given == [(0, 1_000, 0), (0, 1_000, 0)]


# --- cancels ----------------------------------------------------------------------------------------------


def test_a_barge_in_lets_the_unit_in_flight_end_by_itself_and_gives_the_next_at_once() -> None:
    talk = InUnits()
    talk.talk_for(1_000)
    talk.model_says(last=False)
    void = talk.word()
    talk.do(c.BargeIn())
    assert [type(effect) for effect in talk.effects] == [e.CancelStage]
    talk.talk_for(1_000)
    assert talk.given == [(0, 1_000, 0), (1_000, 2_000, 0)]
    assert talk.unit.fence.epoch == 1
    assert names(talk.do(c.RecordSpeech(text="late", pcm=pcm(50), **void))) == ["StageOutputDropped"]
    assert names(talk.model_says("new "))[0] == "ResponseCreated"


def test_a_void_unit_that_the_stage_says_it_never_took_is_given_again_at_once() -> None:
    talk = InUnits()
    talk.talk_for(1_000)
    talk.model_says(last=False)
    stale = talk.word()
    talk.do(c.CancelResponse())
    refused = c.RecordFailure(code="stale_fence", message="epoch 0 is over", **stale)
    assert names(talk.do(refused)) == ["UnitRefused", "UnitSubmitted"]
    assert talk.given == [(0, 1_000, 0), (0, 1_000, 0)]


def test_a_void_unit_that_was_thrown_away_is_not_given_again() -> None:
    talk = InUnits()
    talk.talk_for(1_000)
    stale = talk.word()
    talk.do(c.BargeIn())
    talk.do(c.RecordFailure(code="stale_fence", message="epoch 0 is over", **stale))
    talk.talk_for(1_000)
    assert talk.given == [(0, 1_000, 0), (1_000, 2_000, 0)]


@pytest.mark.parametrize("command", [c.BargeIn(), c.CancelInput()], ids=lambda one: type(one).__name__)
def test_breaking_in_drops_what_was_committed_and_not_given(command: c.Command) -> None:
    talk = InUnits()
    talk.talk_for(1_300)
    talk.commit()
    assert "InputCleared" in names(talk.do(command))
    talk.talk_for(1_000)
    assert talk.given == [(0, 1_000, 0), (1_300, 2_300, 0)]


def test_an_item_whose_last_unit_was_void_and_not_taken_is_given_but_ends_no_turn() -> None:
    talk = InUnits()
    for ms in (300, 400):
        talk.talk_for(ms)
        talk.commit()
    talk.wait(30_000)
    talk.talk_for(10)
    assert not talk.unit.final, "nobody waits for an answer to it any more"
    talk.model_listens()
    assert talk.given == [(0, 300, 700), (0, 300, 700), (300, 700, 600)]


def test_a_void_unit_that_comes_back_when_the_next_was_given_changes_nothing() -> None:
    talk = InUnits()
    talk.talk_for(2_000)
    stale = talk.word()
    talk.do(c.BargeIn())
    talk.talk_for(1_000)
    assert talk.given[-1] == (2_000, 3_000, 0)
    assert names(talk.do(c.RecordFailure(code="stale_fence", message="", **stale))) == []
    assert talk.state.units.flight is not None


def test_nothing_of_a_void_unit_counts_not_even_its_turn_or_its_calls() -> None:
    talk = InUnits()
    talk.talk_for(1_000)
    void = talk.word(last=False)
    talk.do(c.CancelInput())
    happened = talk.do(
        c.RecordTurnEnd(**void),
        c.RecordCall(call_id="c", name="f", arguments="{}", **void),
        c.RecordConsumed(**void),
    )
    assert {type(event) for event in happened} == {StageOutputDropped}


# --- the writer -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("auto", [True, False])
def test_a_new_writer_asks_again_for_the_unit_in_flight_and_for_no_other(auto: bool) -> None:
    talk = InUnits(auto=auto)
    talk.talk_for(2_500, images=(JPEG,))
    talk.commit(respond=True)
    talk.model_listens()
    unit = talk.unit
    talk.open_writer()
    [again] = [effect for effect in talk.effects if isinstance(effect, e.SubmitUnit)]
    assert (again.operation, again.from_sample, again.until_sample) == (
        unit.operation,
        unit.from_sample,
        unit.until,
    )
    assert len(only(UnitSubmitted, talk.events)) == 2


def test_case_14_joined_deltas_are_the_transcript_of_an_answer_made_of_units() -> None:
    talk = InUnits()
    talk.talk_for(3_000)
    for text in ("one ", "two ", "three"):
        talk.model_says(text)
    talk.do(c.AcknowledgePlayback(heard_ms=1_500), c.BargeIn())
    response = talk.all(ResponseCreated)[0].response
    spoken = "".join(one.text for one in talk.all(TextSpoken) if one.response == response)
    assert spoken == "one two three"
    assert talk.text_of(talk.state.played[0].item) == "one tw"
