"""Calls over the Moshi wire, decided one fact at a time."""

from __future__ import annotations

from antiphon.actors.modes.personaplex.commands import Finish, ReportUndecodable
from antiphon.actors.modes.personaplex.hearing import KEPT_MS, MOST_UNDECODABLE
from antiphon.actors.session import commands as c
from antiphon.events import vocabulary as v
from tests.actors.session.given import ms_of, names, only

from .moshi import UNIT_MS, MoshiCall, silent, units

UNIT = 24 * UNIT_MS


def opening() -> MoshiCall:
    """A call whose model is still being prepared: the writer before it ended, so it was asked anew."""
    call = MoshiCall(token=b"token")
    call.open_writer()
    return call


def test_a_unit_is_given_as_soon_as_it_is_whole_and_never_two_at_a_time() -> None:
    call = MoshiCall()
    assert units(call.sends(40)) == []
    [first] = units(call.sends(121))
    assert (first.from_sample, first.until_sample, first.silence) == (0, UNIT, 0)
    [second] = units(call.answers())
    assert (second.from_sample, second.until_sample) == (UNIT, 2 * UNIT)
    assert units(call.answers()) == [], "one millisecond is left"


def test_all_that_the_model_says_is_one_answer() -> None:
    call = MoshiCall()
    for text in ("Hel", "lo", "", " there"):
        call.sends(UNIT_MS)
        call.answers(text)
    assert len(call.all(v.ResponseCreated)) == 1
    assert "".join(one.text for one in call.all(v.TextSpoken)) == "Hello there"
    assert ms_of(call.events) == 4 * UNIT_MS
    [ended] = only(v.ResponseEnded, call.do(c.CloseSession(reason="client")))
    assert ended.session_over


def test_silence_is_given_from_the_opening_on_and_does_not_drift() -> None:
    call = MoshiCall()
    began = call.now_ms
    given = call.passes(80_000, takes_ms=30)
    assert [at - began for at in given] == [2 * UNIT_MS + UNIT_MS * n for n in range(len(given))]
    assert len(given) == 999
    assert all(silent(one) and one.silence == UNIT and not one.force_listen for one in units(call.events))


def test_input_that_is_less_than_a_unit_late_is_waited_for() -> None:
    call = MoshiCall()
    call.sends(UNIT_MS)
    call.answers()
    assert call.wait(2 * UNIT_MS - 1) == []
    assert not silent(units(call.sends(UNIT_MS))[0])


def test_input_that_comes_after_all_is_given_behind_the_silence() -> None:
    call = MoshiCall()
    call.sends(UNIT_MS + 40)
    call.answers()
    [late] = units(call.wait(2 * UNIT_MS))
    assert silent(late)
    assert late.from_sample == UNIT, "what there is of the next unit waits for its rest"
    call.sends(40)
    [given] = units(call.answers())
    assert (given.from_sample, given.until_sample) == (UNIT, 2 * UNIT)


def test_a_stage_that_takes_too_long_is_not_hurried_afterwards() -> None:
    call = MoshiCall()
    call.wait(2 * UNIT_MS)
    call.wait(1_000)
    call.answers()
    assert len(units(call.wait(1))) == 1, "one is overdue"
    call.answers()
    assert units(call.wait(UNIT_MS - 2)) == []
    assert len(units(call.wait(2))) == 1


def test_without_units_the_model_is_given_what_comes_and_nothing_else() -> None:
    call = MoshiCall(unit_ms=0)
    assert names(call.sends(40)) == ["InputAppended"]
    assert units(call.wait(1_000)) == []


def test_what_comes_before_the_model_is_ready_is_dropped_and_no_silence_is_given() -> None:
    call = opening()
    [dropped] = call.sends(200)
    assert dropped == v.InputDropped(samples=24 * 200, reason="preparing")
    assert units(call.wait(5_000)) == []
    call.do(c.RecordStage(stage="model", what="opened", engine="e"))
    assert len(units(call.sends(UNIT_MS))) == 1


def test_while_the_stage_is_away_nothing_is_given_and_nothing_waits() -> None:
    call = MoshiCall()
    call.do(c.RecordStage(stage="model", what="away", message="killed"))
    assert [type(one) for one in call.sends(UNIT_MS)] == [v.InputDropped]
    assert units(call.wait(10_000)) == []
    call.do(c.RecordStage(stage="model", what="returned"))
    call.do(c.RecordStage(stage="model", what="opened", engine="e2"))
    began = call.now_ms
    given = call.passes(400)
    assert given[0] == began + 2 * UNIT_MS


def test_of_input_that_piles_up_the_newest_is_kept() -> None:
    call = MoshiCall()
    call.sends(UNIT_MS)
    for _ in range(20):
        call.sends(100)
    assert call.all(v.InputCleared) == []
    [cleared] = only(v.InputCleared, call.sends(100))
    assert cleared.until_sample == 24 * (UNIT_MS + 2_100 - KEPT_MS)
    [following] = units(call.answers())
    assert following.from_sample == cleared.until_sample


def test_what_came_late_and_was_replaced_by_silence_does_not_make_everything_late_for_ever() -> None:
    """The model is asked once in each unit's time: it would never catch up."""
    call = MoshiCall()
    call.sends(4 * UNIT_MS)
    heard: list[int] = []
    for _ in range(60):
        call.now_ms += UNIT_MS
        call.answers()
        call.sends(UNIT_MS)
        heard.append(call.state.buffer.appended - call.state.units.given)
    assert heard[0] == 3 * UNIT
    assert heard[-1] == UNIT, "what comes right behind a unit waits for the next"
    [cleared] = call.all(v.InputCleared)
    given = [one for one in units(call.events) if not silent(one)]
    [after] = [one for one in given if one.from_sample == cleared.until_sample]
    assert after.from_sample - given[given.index(after) - 1].until_sample == 2 * UNIT


def test_a_client_that_pauses_and_speaks_again_loses_nothing() -> None:
    call = MoshiCall()
    for _ in range(10):
        call.sends(UNIT_MS)
        call.passes(5_000)
        for _ in range(40):
            call.sends(UNIT_MS)
            call.passes(UNIT_MS)
    assert call.all(v.InputCleared) == []


def test_a_stream_that_is_none_ends_the_session() -> None:
    call = MoshiCall()
    bad = ReportUndecodable(size=100, message="not Ogg")
    for _ in range(MOST_UNDECODABLE - 1):
        assert names(call.do(bad)) == ["InputUndecodable"]
    [_, failed] = call.do(bad)
    assert isinstance(failed, v.SessionFailed)
    assert failed.code == "undecodable_audio"


def test_a_stream_that_is_damaged_now_and_then_goes_on() -> None:
    call = MoshiCall()
    for _ in range(5 * MOST_UNDECODABLE):
        call.do(ReportUndecodable(size=100, message="garbage"))
        call.sends(10)
        if call.state.units.flight is not None:
            call.answers()
    assert call.state.phase == "open"


def test_who_finishes_gets_the_last_unit_answered_filled_up_with_silence() -> None:
    call = MoshiCall()
    call.do(c.AppendAudio(pcm=b"\x01\x00" * 2_500))
    assert names(call.do(Finish())) == ["InputFinished"]
    assert call.do(Finish()) == []
    call.answers()
    call.answers()
    assert names(call.wait(0))[-1] == "SessionClosed"
    shown = [(one.until_sample - one.from_sample, one.silence, one.final) for one in units(call.events)]
    assert shown == [(1920, 0, False), (580, 1340, True)]
    assert ms_of(call.events) == 2 * UNIT_MS


def test_who_finishes_with_nothing_waiting_is_let_go_at_once() -> None:
    call = MoshiCall()
    assert names(call.do(Finish())) == ["InputFinished", "SessionClosed"]


def test_who_finishes_behind_a_unit_that_is_not_taken_is_let_go_after_its_answer() -> None:
    call = MoshiCall()
    call.sends(UNIT_MS)
    call.answers("Hm.")
    call.sends(UNIT_MS)
    call.do(Finish())
    flight = call.state.units.flight
    assert flight is not None
    word = {"operation": flight.operation, "index": 0, "epoch": 0, "last": True}
    happened = call.do(c.RecordFailure(code="engine_error", message="it broke", **word))
    assert names(happened) == ["UnitRefused", "ResponseEnded", "SessionClosed"]


def test_without_a_token_a_session_ends_with_its_connection() -> None:
    call = MoshiCall(terms=v.Terms(disconnect_grace_s=30))
    [_, closed] = call.do(c.Detach(attachment=1, reason="lost"))
    assert closed == v.SessionClosed(reason="disconnected")


def test_with_a_token_the_model_is_given_silence_until_the_client_is_back() -> None:
    call = MoshiCall(terms=v.Terms(disconnect_grace_s=30), token=b"token")
    assert names(call.do(c.Detach(attachment=1, reason="lost"))) == ["ClientDetached"]
    assert len(call.passes(1_000)) == 11
    call.do(c.Resume(dialect="personaplex", presented=b"token", token=b"next"))
    call.passes(20)
    assert not silent(units(call.sends(UNIT_MS))[0])
