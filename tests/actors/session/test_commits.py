"""The contract's sections 5.2 and 5.5: what a commit becomes, and which answer comes of it."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.actors.session import commands as c
from antiphon.actors.session import effects as e
from antiphon.actors.session.refusals import (
    Backpressure,
    NothingSpoken,
    NothingToAnswer,
    NothingToCommit,
    OptionUnsupported,
)
from antiphon.events.ids import ItemId
from antiphon.events.vocabulary import (
    CommandRefused,
    InputCommitted,
    ModelListened,
    ResponseCreated,
    ResponseEnded,
    SpeechStopped,
    TurnDetection,
    UnitSubmitted,
)

from .duplex import ASKED, Asked, InUnits, message
from .given import SILENCE, Talk, names, only, pcm, spoken


def outcome(events: list[Any]) -> str:
    [committed] = only(InputCommitted, events)
    return committed.outcome


# --- idle -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("auto", "respond", "wanted"),
    [
        (False, None, "kept"),
        (False, True, "asked"),
        (False, False, "kept"),
        (True, None, "asked"),
        (True, True, "asked"),
        (True, False, "kept"),
    ],
)
def test_an_idle_commit_is_answered_if_it_says_so_and_else_as_the_session_is_configured(
    auto: bool, respond: bool | None, wanted: str
) -> None:
    for talk in (Asked(auto=auto), InUnits(auto=auto)):
        talk.talk_for(1_400)
        assert outcome(talk.commit(respond=respond)) == wanted


@pytest.mark.parametrize("kind", [Asked, InUnits])
def test_case_4_a_commit_is_told_before_the_answer_that_comes_of_it(kind: Any) -> None:
    talk = kind(auto=True)
    talk.talk_for(1_300)
    talk.commit()
    if isinstance(talk, InUnits):
        talk.model_listens()
        talk.model_says()
    seen = names(talk.events)
    assert seen.index("InputCommitted") < seen.index("ResponseCreated")


def test_in_a_stream_a_commit_may_end_in_listening_and_no_answer() -> None:
    talk = InUnits(auto=True)
    talk.talk_for(1_300)
    talk.commit()
    talk.model_listens()
    talk.model_listens()
    assert talk.all(ResponseCreated) == []


@pytest.mark.parametrize("kind", [Asked, InUnits])
@pytest.mark.parametrize("auto", [True, False])
def test_case_5_a_commit_of_nothing_is_refused_once_and_creates_nothing(kind: Any, auto: bool) -> None:
    talk = kind(auto=auto)
    refusal = talk.refuses(c.CommitInput(any_length=True, client_event="evt_1"))
    assert type(refusal) is NothingToCommit
    assert talk.all(ResponseCreated) == talk.all(InputCommitted) == []


def test_a_plain_commit_needs_100_ms_and_a_duplex_one_any_audio_at_all() -> None:
    talk = Asked()
    talk.talk_for(50)
    assert type(talk.refuses(c.CommitInput())) is NothingToCommit
    talk.talk_for(50)
    assert outcome(talk.do(c.CommitInput())) == "kept"
    talk.talk_for(50)
    assert outcome(talk.commit()) == "kept"


# --- silence ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Asked, InUnits])
@pytest.mark.parametrize("auto", [True, False])
@pytest.mark.parametrize("explicit", [True, False])
def test_case_6_a_commit_of_silence_is_told_and_then_that_the_model_listens(
    kind: Any, auto: bool, explicit: bool
) -> None:
    talk = kind(auto=auto)
    talk.talk_for(1_300, speech=False)
    before = len(talk.all(UnitSubmitted))
    happened = talk.commit(speech=False if explicit else None)
    assert names(happened) == ["InputCommitted", "ModelListened"]
    assert outcome(happened) == "silence"
    assert only(ModelListened, happened)[0].reason == "silence_or_noise"
    assert talk.state.entries == ()
    assert len(talk.all(UnitSubmitted)) == before, "nothing is given to anybody"


def test_a_verdict_of_silence_holds_although_something_was_heard() -> None:
    talk = Asked(auto=True)
    talk.talk_for(1_000)
    assert outcome(talk.commit(speech=False)) == "silence"


def test_a_verdict_of_speech_holds_although_nothing_was_heard() -> None:
    talk = Asked()
    talk.talk_for(1_000, speech=False)
    assert outcome(talk.commit(speech=True)) == "kept"


def test_one_chunk_of_speech_is_enough_to_have_said_something_and_unjudged_audio_is_speech() -> None:
    talk = Asked()
    talk.talk_for(400, speech=False)
    talk.talk_for(100)
    assert outcome(talk.commit()) == "kept"
    talk.talk_for(400, speech=None)
    assert outcome(talk.commit()) == "kept"
    talk.talk_for(400, speech=False)
    assert outcome(talk.commit()) == "silence", "verdicts are of the open input"


def test_what_was_not_said_is_recognised_by_nobody() -> None:
    talk = Asked(detection=TurnDetection())
    talk.hear(400)
    talk.hear(256, SILENCE)  # the recogniser has been asked
    talk.commit(speech=False)
    assert talk.state.input.recognitions == ()
    assert talk.state.input.untranscribed == ()


# --- over an answer ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("auto", [True, False])
def test_case_8_a_short_word_over_an_answer_is_an_acknowledgement_and_changes_nothing(auto: bool) -> None:
    talk = Asked(auto=auto).speaking()
    response = talk.active.response
    talk.talk_for(700)
    happened = talk.commit(respond=True)
    assert names(happened) == ["InputCommitted"]
    assert outcome(happened) == "acknowledgement"
    assert talk.active.response == response
    assert len(talk.state.entries) == 2
    talk.finish()
    assert len(talk.all(ResponseCreated)) == 1


@pytest.mark.parametrize("auto", [True, False])
def test_case_9_deferred_overlap_is_answered_once_the_answer_completes(auto: bool) -> None:
    talk = Asked(auto=auto).speaking()
    first = talk.active.response
    talk.talk_for(1_400)
    assert outcome(talk.commit()) == "deferred"
    item = talk.state.last_item
    talk.understand("and another thing")
    assert len(talk.all(ResponseCreated)) == 1
    talk.finish()
    _, second = talk.all(ResponseCreated)
    assert (second.answers, second.previous) == (item, item)
    assert second.response != first
    assert talk.active.operation is not None
    talk.finish()
    assert len(talk.all(ResponseCreated)) == 2


@pytest.mark.parametrize("how", ["cancelled", "failed", "closed", "cleared", "removed"])
def test_case_9_nothing_deferred_outlives_an_answer_that_did_not_end_by_itself(how: str) -> None:
    talk = Asked().speaking()
    talk.talk_for(1_400)
    talk.commit()
    talk.understand("and another thing")
    match how:
        case "cancelled":
            talk.do(c.CancelResponse())
        case "failed":
            word = {"operation": talk.active.operation, "index": 1, "epoch": 0, "last": True}
            talk.do(c.RecordFailure(code="engine_error", message="it broke", **word))
        case "closed":
            talk.do(c.CloseSession(reason="client"))
        case "cleared":
            talk.do(c.ClearInput())
            talk.finish()
        case _:
            talk.do(c.RemoveItem(item=ItemId(talk.state.last_item or "")))
            talk.finish()
    assert len(talk.all(ResponseCreated)) == 1
    assert talk.state.turns.deferred == ()


def test_an_answer_that_was_cut_at_its_limit_has_ended_by_itself() -> None:
    talk = Asked().speaking()
    talk.talk_for(1_400)
    talk.commit()
    talk.understand("more")
    talk.finish("length")
    assert len(talk.all(ResponseCreated)) == 2


def test_deferred_items_are_answered_one_by_one_each_with_what_was_said_until_then() -> None:
    talk = Asked(config=None).speaking("First answer. ")
    for text in ("second question", "third question"):
        talk.talk_for(1_400)
        assert outcome(talk.commit()) == "deferred"
        talk.understand(text)
    talk.do(c.AcknowledgePlayback(heard_ms=2_000))
    talk.finish()
    [asked] = [effect for effect in talk.effects if isinstance(effect, e.Answer)]
    assert spoken(asked.conversation) == [
        ("user", "hello"),
        ("assistant", "First answer. "),
        ("user", "second question"),
    ]
    talk.say("Second answer.", 500)
    talk.do(c.AcknowledgePlayback(heard_ms=500, response=talk.active.response))
    talk.finish()
    [asked] = [effect for effect in talk.effects if isinstance(effect, e.Answer)]
    assert [line.text for line in asked.conversation] == [
        "hello",
        "First answer. ",
        "second question",
        "Second answer.",
        "third question",
    ]
    talk.finish()
    assert len(talk.all(ResponseCreated)) == 3


def test_so_many_items_may_wait_for_an_answer_to_end_and_no_more() -> None:
    talk = Asked().speaking()
    for _ in range(4):
        talk.talk_for(1_400)
        talk.commit()
    talk.talk_for(1_400)
    assert type(talk.refuses(c.CommitInput(any_length=True))) is Backpressure
    talk.do(c.CommitInput(any_length=True, respond=False))
    talk.talk_for(500)
    assert outcome(talk.commit()) == "acknowledgement", "nobody waits for an answer to that"


def test_an_overlap_whose_commit_wants_no_answer_is_kept() -> None:
    talk = Asked().speaking()
    talk.talk_for(1_400)
    assert outcome(talk.commit(respond=False)) == "kept"
    talk.finish()
    assert len(talk.all(ResponseCreated)) == 1


def test_input_from_before_the_answer_is_deferred_only_if_an_answer_to_it_is_wanted() -> None:
    for auto, respond, wanted in (
        (False, None, "kept"),
        (False, True, "deferred"),
        (True, None, "deferred"),
        (True, False, "kept"),
    ):
        talk = Asked(auto=auto)
        talk.talk_for(500)
        talk.do(message("hello"), c.CreateResponse())
        assert outcome(talk.commit(respond=respond)) == wanted


def test_what_began_before_the_answer_and_ends_over_it_is_no_mere_acknowledgement() -> None:
    talk = Asked()
    talk.do(message("hello"))
    talk.talk_for(600)
    talk.do(c.CreateResponse())
    talk.talk_for(300)
    assert outcome(talk.commit()) == "deferred"


def test_held_units_are_deferred_too_and_given_when_their_answer_begins() -> None:
    talk = InUnits(auto=False)
    talk.talk_for(1_000)
    talk.commit(respond=True)
    talk.model_says("one ")
    talk.talk_for(1_200)
    assert outcome(talk.commit()) == "deferred"
    talk.wait(1_000)
    assert talk.given == [(0, 1_000, 0), (1_000, 1_000, 1_000)]
    talk.model_listens()
    assert talk.given[-1] == (1_000, 2_000, 0)
    talk.model_listens()
    assert talk.given[-1] == (2_000, 2_200, 800)
    assert talk.unit.final
    assert [created.asked for created in talk.all(ResponseCreated)] == [True, True]


@pytest.mark.parametrize("ms", [400, 1_400])
def test_in_a_stream_nothing_is_left_to_defer_and_nothing_is_a_mere_acknowledgement(ms: int) -> None:
    talk = InUnits(auto=True)
    talk.talk_for(1_000)
    talk.model_says("one ")
    talk.talk_for(ms)
    assert outcome(talk.commit()) == "asked"
    assert talk.state.turns.deferred == ()
    assert len(talk.state.entries) == 2


def test_where_overlaps_are_not_decided_a_commit_over_an_answer_is_kept() -> None:
    talk = Talk(detection=None)
    talk.do(c.CreateResponse())
    talk.do(c.AppendAudio(pcm=bytes(2 * 24 * 300), speech=True))
    assert outcome(talk.do(c.CommitInput(respond=True))) == "kept"


def test_plain_sessions_commit_as_ever_whatever_is_being_said() -> None:
    talk = Talk(detection=None)
    talk.do(c.CreateResponse())
    talk.do(c.AppendAudio(pcm=bytes(2 * 24 * 300)))
    assert outcome(talk.do(c.CommitInput())) == "kept"
    talk.finish()
    assert len(talk.all(ResponseCreated)) == 1


# --- server VAD -------------------------------------------------------------------------------------------


def test_where_answers_come_by_themselves_the_end_of_speech_in_a_stream_is_only_reported() -> None:
    talk = InUnits(auto=True, detection=TurnDetection())
    talk.hear(400)
    talk.hear(700, SILENCE)
    assert talk.all(SpeechStopped)
    assert talk.all(InputCommitted) == []


@pytest.mark.parametrize("kind", ["asked", "pieces"])
def test_elsewhere_the_end_of_speech_commits_what_was_said(kind: str) -> None:
    talk = Asked(auto=True, detection=TurnDetection()) if kind == "asked" else Talk(hears="continuously")
    talk.hear(400)
    talk.hear(700, SILENCE)
    assert [committed.by for committed in talk.all(InputCommitted)] == ["voice"]
    assert len(talk.all(ResponseCreated)) == (kind == "asked")


def test_the_end_of_speech_commits_held_input_and_asks_for_its_answer() -> None:
    talk = InUnits(auto=False, detection=TurnDetection())
    talk.hear(400)
    talk.hear(700, SILENCE)
    [committed] = talk.all(InputCommitted)
    assert committed.by == "voice"
    assert len(talk.all(ResponseCreated)) == 1
    assert talk.unit.until == committed.until_sample


# --- response.create --------------------------------------------------------------------------------------


def test_an_answer_to_nothing_is_refused_where_the_session_is_strict() -> None:
    assert type(Asked().refuses(c.CreateResponse())) is NothingToAnswer
    assert type(InUnits(auto=False).refuses(c.CreateResponse())) is NothingToAnswer
    talk = Asked().speaking()
    talk.finish()
    assert type(talk.refuses(c.CreateResponse())) is NothingToAnswer
    Talk(detection=None).do(c.CreateResponse())


def test_a_text_is_no_question_to_a_model_that_cannot_read() -> None:
    talk = InUnits(auto=False)
    talk.do(message("hello"))
    assert type(talk.refuses(c.CreateResponse())) is NothingSpoken
    talk = Asked()
    talk.do(message("hello"), c.CreateResponse())
    assert talk.active.operation is not None


def test_a_model_in_units_that_reads_is_asked_about_a_text_and_given_no_unit_meanwhile() -> None:
    talk = InUnits(auto=True, reads=True)
    talk.do(message("hello"), c.CreateResponse())
    assert [one.work for one in talk.all(UnitSubmitted)] == ["speak"]
    talk.talk_for(1_000)
    assert talk.is_idle
    talk.say("Hello.", 300)
    talk.finish()
    assert talk.unit.until == 24_000


ONE_TIME = {
    "instructions": "whisper",
    "voice": "alba",
    "temperature": 0.1,
    "max_output_tokens": 7,
    "speed": 0.5,
}


def test_case_32_options_of_one_response_never_reach_the_next() -> None:
    talk = Asked(response_options=tuple(ONE_TIME))
    ends = {
        "done": talk.finish,
        "cancelled": lambda: talk.do(c.CancelResponse()),
        "failed": lambda: talk.do(
            c.RecordFailure(
                operation=talk.active.operation, index=0, epoch=talk.state.fence.epoch,
                last=True, code="engine_error", message="it broke",
            )
        ),
    }  # fmt: skip
    for end in ends.values():
        talk.do(message("one"), c.CreateResponse(**ONE_TIME))  # type: ignore[arg-type]
        [asked] = [effect for effect in talk.effects if isinstance(effect, e.Answer)]
        assert {name: getattr(asked, name) for name in ONE_TIME} == ONE_TIME
        end()
        talk.do(message("two"), c.CreateResponse())
        [asked] = [effect for effect in talk.effects if isinstance(effect, e.Answer)]
        assert {getattr(asked, name) for name in ONE_TIME} == {"", None}
        talk.finish()
    assert talk.state.config == ASKED


@pytest.mark.parametrize("option", ONE_TIME)
def test_options_that_the_stage_cannot_change_for_one_response_are_refused_by_name(option: str) -> None:
    talk = Asked(response_options=())
    talk.do(message("hello"))
    value: Any = ONE_TIME[option]
    refusal = talk.refuses(c.CreateResponse(**{option: value}))
    assert type(refusal) is OptionUnsupported
    assert refusal.parameter == f"response.{option}"
    talk.do(c.CreateResponse(modalities=("text",), in_history=False, metadata={"a": "b"}))


def test_options_of_the_answer_to_a_deferred_item_are_those_of_the_session() -> None:
    talk = Asked()
    talk.do(message("one"), c.CreateResponse(instructions="whisper"))
    talk.talk_for(1_400)
    talk.commit()
    talk.understand("two")
    talk.finish()
    assert talk.active.instructions is None
    assert [ended.outcome for ended in talk.all(ResponseEnded)] == ["completed"]


def test_a_commit_that_is_not_final_makes_an_item_and_nobody_answers() -> None:
    talk = Asked(auto=True)
    talk.talk_for(1_000)
    talk.commit(final=False)
    talk.understand("It was in May,")
    assert talk.state.turns.active is None
    talk.talk_for(1_000)
    talk.commit()
    talk.understand("and it rained.")
    assert talk.conversation == [("user", "It was in May,"), ("user", "and it rained.")]
    assert talk.active


def test_over_an_answer_what_is_not_final_is_neither_deferred_nor_a_mere_word() -> None:
    for ms in (300, 1_400):
        talk = Asked().speaking()
        talk.talk_for(ms)
        [committed] = only(InputCommitted, talk.commit(final=False))
        assert committed.outcome == "kept"


def test_a_model_that_hears_pieces_is_told_of_the_end_of_a_turn_and_of_no_other_commit() -> None:
    talk = Talk(hears="continuously", detection=None)
    for final, told in ((False, ["InputCommitted"]), (True, ["InputCommitted", "UnitSubmitted"])):
        talk.do(c.AppendAudio(pcm=pcm(500)))
        assert names(talk.do(c.CommitInput(final=final))) == told


def test_a_commit_may_name_its_item_once() -> None:
    talk = Asked()
    talk.talk_for(500)
    [committed] = only(InputCommitted, talk.commit(item=ItemId("mine")))
    assert committed.item == talk.state.last_item == "mine"
    talk.talk_for(500)
    happened = talk.commit(item=ItemId("mine"), client_event="again")
    [refused] = only(CommandRefused, happened)
    assert (refused.code, refused.client_event, refused.attachment) == ("item_exists", "again", 1)
    assert talk.refuses(c.CommitInput(any_length=True)).code == NothingToCommit.code


# --- the turn of the answer to come -----------------------------------------------------------------------


def turn_of(happened: list[Any]) -> int | None:
    [committed] = only(InputCommitted, happened)
    return committed.turn


def over_an_answer() -> InUnits:
    """A stream in which the model says something by itself, and the user a word over it."""
    talk = InUnits()
    talk.talk_for(1_000)
    assert turn_of(talk.commit()) == 1
    talk.model_says("one ", last=False)
    assert talk.state.fence.turn == 1
    talk.talk_for(200)
    return talk


def test_the_first_word_over_an_answer_fixes_the_turn_that_a_later_commit_has() -> None:
    talk = over_an_answer()
    talk.model_ends_its_turn()
    talk.model_says("two ", last=False)
    assert talk.state.fence.turn == 2, "the model answers by itself before the commit"
    talk.talk_for(200)
    assert turn_of(talk.commit()) == 2
    talk.talk_for(200)
    assert turn_of(talk.commit()) == 3


@pytest.mark.parametrize("how", ["cleared", "cancelled"])
def test_what_is_thrown_away_gives_its_turn_up(how: str) -> None:
    talk = over_an_answer()
    talk.do(c.ClearInput() if how == "cleared" else c.CancelResponse())
    if how == "cleared":
        talk.model_ends_its_turn()
        talk.model_says("two ", last=False)
    else:
        talk.talk_for(1_000)
        talk.model_says("two ", last=False)
        talk.do(c.ClearInput())
    assert talk.state.fence.turn == 2
    talk.talk_for(200)
    assert turn_of(talk.commit()) == 3


def test_silence_fixes_no_turn() -> None:
    talk = InUnits()
    talk.talk_for(1_000, speech=False)
    talk.model_says("one ", last=False)
    talk.talk_for(200)
    assert turn_of(talk.commit()) == 2


def test_a_model_that_is_asked_answers_in_the_turn_that_the_commit_names() -> None:
    talk = Asked().speaking()
    talk.talk_for(1_400)
    named = [turn_of(talk.commit())]
    talk.understand("second")
    talk.talk_for(200)
    talk.finish()
    assert talk.active.fence.turn == named[0] == 2
    talk.talk_for(1_400)
    assert turn_of(talk.commit()) == 3, "it was begun before the deferred one was answered"
    talk.understand("third")
    talk.finish()
    assert talk.active.fence.turn == 3
