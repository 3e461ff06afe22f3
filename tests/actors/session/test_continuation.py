"""The contract's section 5.6: silence keeps a model going that hears, and so also speaks, in units."""

from __future__ import annotations

import pytest

from antiphon.actors.session import commands as c
from antiphon.actors.session.timers import timers
from antiphon.events.vocabulary import ModelListened, ResponseCreated, ResponseEnded

from .duplex import BY_ITSELF, UNIT_MS, InUnits, message
from .given import names, only


def speaking(*, auto: bool = True) -> InUnits:
    """The model has said the first second of an answer, and nobody says anything."""
    talk = InUnits(auto=auto)
    talk.talk_for(UNIT_MS)
    if not auto:
        talk.commit(respond=True)
    talk.model_says()
    return talk


def due_ms(talk: InUnits) -> int | None:
    due = timers(talk.state).get("continuation")
    return None if due is None else due // 1_000_000


def test_while_the_model_speaks_and_no_input_comes_it_is_given_silence_every_unit_s_length() -> None:
    talk = speaking()
    first = due_ms(talk)
    assert first is not None
    for k in range(1, 4):
        talk.wait(due_ms(talk) - talk.now_ms)  # type: ignore[operator]
        assert talk.given[-1] == (1_000, 1_000, 1_000)
        talk.now_ms += 120
        talk.model_says()
        assert due_ms(talk) == first + k * UNIT_MS, "no drift"


def test_whoever_is_more_than_one_unit_late_begins_anew() -> None:
    talk = speaking()
    talk.wait(UNIT_MS)
    talk.now_ms += 2_500
    talk.model_says()
    talk.wait(0)
    assert due_ms(talk) is None, "the next is under way at once"
    late = talk.now_ms
    talk.model_says()
    assert due_ms(talk) == late + UNIT_MS


def test_input_that_is_there_goes_first_and_a_part_of_a_unit_waits_for_its_rest() -> None:
    talk = speaking()
    talk.now_ms += 900
    talk.talk_for(300)
    assert talk.wait(500) == [], "silence does not cut into what is being said"
    talk.talk_for(700)
    assert talk.given[-1] == (1_000, 2_000, 0)


def test_a_part_whose_rest_does_not_come_does_not_hold_the_model_up() -> None:
    talk = speaking()
    talk.talk_for(300)
    talk.wait(UNIT_MS)
    assert talk.given[-1] == (1_000, 1_000, 1_000)
    talk.model_says()
    talk.talk_for(700)
    assert talk.given[-1] == (1_000, 2_000, 0), "and is not lost"


def test_no_silence_is_given_to_a_model_that_only_listens() -> None:
    talk = InUnits()
    talk.talk_for(UNIT_MS)
    talk.model_listens()
    assert due_ms(talk) is None


def test_a_turn_that_was_ended_is_waited_out_until_the_model_answers_it() -> None:
    talk = InUnits()
    talk.talk_for(UNIT_MS)
    talk.model_listens()
    talk.commit()
    talk.wait(UNIT_MS)
    talk.model_listens()
    talk.wait(UNIT_MS)
    assert "ResponseCreated" in names(talk.model_says())
    assert talk.given == [(0, 1_000, 0), (1_000, 1_000, 1_000), (1_000, 1_000, 1_000)]


@pytest.mark.parametrize("end", ["the model ends its turn", "barge-in"])
def test_a_turn_that_is_over_is_not_waited_out(end: str) -> None:
    talk = InUnits()
    talk.talk_for(UNIT_MS)
    talk.model_listens()
    talk.commit()
    talk.wait(UNIT_MS)
    if end == "barge-in":
        talk.do(c.BargeIn())
    else:
        talk.model_ends_its_turn()
        talk.model_listens()
    assert due_ms(talk) is None


@pytest.mark.parametrize(("auto", "most"), [(False, 8), (True, 64)])
def test_so_many_units_of_silence_follow_each_other_and_the_last_leaves_no_choice(
    auto: bool, most: int
) -> None:
    talk = speaking(auto=auto)
    for k in range(most):
        talk.wait(UNIT_MS)
        assert talk.unit.force_listen == (k == most - 1)
        if not talk.unit.force_listen:
            talk.model_says()
    happened = talk.model_listens()
    [ended] = only(ResponseEnded, happened)
    assert ended.outcome == "completed"
    assert due_ms(talk) is None
    assert len(talk.given) == most + 1


@pytest.mark.parametrize("auto", [False, True])
def test_a_model_that_goes_on_beyond_the_last_is_ended_and_told_why(auto: bool) -> None:
    talk = speaking(auto=auto)
    happened = []
    for _ in range(70):
        happened = talk.wait(UNIT_MS)
        if talk.is_idle:
            break
        talk.model_says()
    assert names(happened) == ["ModelListened", "ResponseEnded"]
    [listened] = only(ModelListened, happened)
    assert (listened.reason, listened.response) == (
        "continuation_limit",
        talk.all(ResponseCreated)[0].response,
    )


def test_a_turn_that_the_model_never_answers_is_waited_out_only_so_long() -> None:
    talk = InUnits(config=BY_ITSELF)
    talk.talk_for(UNIT_MS)
    talk.commit()
    talk.model_listens()
    for _ in range(64):
        talk.wait(UNIT_MS)
        talk.model_listens()
    assert names(talk.wait(UNIT_MS)) == ["ModelListened"]
    assert talk.all(ModelListened)[-1].reason == "continuation_limit"
    assert due_ms(talk) is None


def test_input_begins_the_count_anew() -> None:
    talk = speaking(auto=True)
    for _ in range(5):
        talk.wait(UNIT_MS)
        talk.model_says()
    talk.talk_for(UNIT_MS)
    talk.model_says()
    assert talk.state.units.silences == 0


def test_an_answer_that_was_asked_for_waits_for_its_words_and_a_listening_model_does_not_end_it() -> None:
    talk = InUnits(auto=False)
    talk.talk_for(UNIT_MS)
    talk.commit(respond=True)
    talk.model_listens()
    assert talk.active
    talk.wait(UNIT_MS)
    talk.model_says("at last ")
    assert talk.all(ResponseEnded) == []
    talk.wait(UNIT_MS)
    talk.model_listens()
    assert [ended.outcome for ended in talk.all(ResponseEnded)] == ["completed"]


def test_a_turn_that_ends_without_a_word_ends_the_answer_that_was_asked_for() -> None:
    talk = InUnits(auto=False)
    talk.talk_for(UNIT_MS)
    talk.commit(respond=True)
    happened = talk.model_ends_its_turn()
    assert names(happened) == ["TurnEnded", "ModelListened", "ResponseEnded"]
    assert only(ModelListened, happened)[0].reason == "turn_completed_without_output"


def test_input_that_waits_to_be_asked_about_does_not_hold_the_model_up() -> None:
    talk = speaking(auto=False)
    due = due_ms(talk)
    talk.talk_for(300)
    assert due_ms(talk) == due


def test_a_timer_that_fires_early_or_for_nothing_is_nothing() -> None:
    talk = speaking()
    talk.wait(0)
    talk.model_says()
    assert talk.do(c.FireTimer(name="continuation")) == []
    talk.do(c.CancelResponse())
    talk.now_ms += 60_000
    assert talk.do(c.FireTimer(name="continuation")) == []


def test_no_silence_is_given_while_the_stage_is_asked_about_its_configuration() -> None:
    talk = InUnits(confirms_config=True)
    talk.talk_for(UNIT_MS)
    talk.model_says()
    talk.do(c.Configure(instructions="new"))
    assert due_ms(talk) is None
    talk.do(c.RecordStage(stage="model", what="configured", generation=1))
    assert due_ms(talk) is not None


def test_no_silence_is_given_beside_an_answer_to_a_text() -> None:
    talk = InUnits(reads=True)
    talk.do(message("hello"), c.CreateResponse())
    assert talk.active.operation is not None
    assert due_ms(talk) is None


def test_a_turn_whose_end_the_stage_did_not_take_is_not_waited_out() -> None:
    talk = InUnits()
    talk.talk_for(300)
    talk.commit()
    talk.unit_fails()
    assert due_ms(talk) is None
    talk.talk_for(10)
    talk.model_listens()
    assert due_ms(talk) is None, "the commit was aborted"


def test_the_timer_follows_from_the_log_alone() -> None:
    talk = speaking()
    talk.state = talk.restarted()
    talk.open_writer()
    talk.wait(UNIT_MS)
    assert talk.given[-1] == (1_000, 1_000, 1_000)


def test_after_a_boot_the_clock_begins_anew() -> None:
    talk = speaking()
    talk.boot, talk.now_ms = "boot-2", 50
    talk.open_writer()
    assert due_ms(talk) == 50 + UNIT_MS


def test_nothing_goes_on_after_the_session_has_ended_or_the_answer_was_cut_off() -> None:
    talk = speaking()
    talk.do(c.CancelResponse())
    assert due_ms(talk) is None
    talk = speaking()
    talk.do(c.CloseSession(reason="client"))
    assert talk.wait(60_000) == []
