"""The contract's section 2: images, function calls, what is written, and what clients tell each other."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from antiphon.actors.session import commands as c
from antiphon.actors.session.absence import AWAY_S
from antiphon.actors.session.attachment import FRAMES_PER_EVENT
from antiphon.actors.session.effects import Answer
from antiphon.actors.session.refusals import (
    Backpressure,
    CannotRead,
    CannotSee,
    InvalidImage,
    InvalidOutput,
    ItemNotFound,
    NoSuchFrame,
    Unsupported,
)
from antiphon.events.ids import ItemId
from antiphon.events.vocabulary import (
    EventsAcknowledged,
    ImageReceived,
    Item,
    ItemAdded,
    Part,
    ResponseEnded,
    SessionFailed,
    ToolCalled,
    TurnSignalled,
)

from .duplex import ASKED, JPEG, UNIT_MS, Asked, InUnits, message
from .given import Talk, names, only, pcm

PNG = c.Image("image/png", b"\x89PNG")


def picture(*images: c.Image, role: Any = "user", parts: int | None = None) -> c.AddItem:
    shown = (
        Part(kind="input_text", text="what is this?"),
        *[Part(kind="input_image")] * (len(images) if parts is None else parts),
    )
    return c.AddItem(item=Item(id=ItemId(""), role=role, content=shown), images=images)


# --- images -----------------------------------------------------------------------------------------------


def test_images_come_before_the_audio_they_were_seen_with_and_their_files_are_kept() -> None:
    talk = InUnits()
    talk.talk_for(200)
    happened = talk.talk_for(200, images=(JPEG, PNG))
    assert names(happened) == ["ImageReceived", "ImageReceived", "InputAppended"]
    assert [(one.media_type, one.at_sample) for one in only(ImageReceived, happened)] == [
        ("image/jpeg", 4_800),
        ("image/png", 4_800),
    ]
    assert talk.payloads[-3:-1] == [JPEG.data, PNG.data]


def test_an_image_may_come_without_audio_and_goes_with_the_next_unit() -> None:
    talk = InUnits()
    assert names(talk.do(c.AppendAudio(pcm=b"", images=(JPEG,)))) == ["ImageReceived"]
    talk.talk_for(UNIT_MS)
    assert len(talk.unit.images) == 1


def test_an_image_behind_the_last_word_of_an_item_belongs_to_it() -> None:
    talk = InUnits()
    talk.talk_for(300)
    talk.do(c.AppendAudio(pcm=b"", images=(JPEG,)))
    talk.commit()
    assert (len(talk.unit.images), talk.unit.final) == (1, True)


def test_images_are_cleared_with_the_input_they_came_with() -> None:
    talk = InUnits()
    talk.talk_for(300, images=(JPEG,))
    talk.do(c.ClearInput())
    talk.talk_for(UNIT_MS)
    assert talk.unit.images == ()


def test_a_stage_that_cannot_see_is_shown_nothing() -> None:
    talk = InUnits(sees=False)
    assert type(talk.refuses(c.AppendAudio(pcm=pcm(100), images=(JPEG,)))) is CannotSee
    assert type(talk.refuses(picture(JPEG))) is Unsupported
    assert talk.all(ImageReceived) == []


def test_an_item_names_its_images_by_where_they_stand() -> None:
    talk = InUnits(reads=True)
    happened = talk.do(picture(JPEG, PNG))
    assert names(happened) == ["ImageReceived", "ImageReceived", "ItemAdded"]
    [added] = only(ItemAdded, happened)
    named = [part.image for part in added.item.content if part.kind == "input_image"]
    assert [type(talk.events[seq or 0]) for seq in named] == [ImageReceived, ImageReceived]
    assert [one.item for one in only(ImageReceived, happened)] == [added.item.id] * 2
    talk.talk_for(UNIT_MS)
    assert talk.unit.images == tuple(named)


@pytest.mark.parametrize(
    "wrong",
    [picture(JPEG, role="assistant"), picture(JPEG, parts=2), picture(parts=1), picture(JPEG, parts=0)],
    ids=["the assistant's", "too few", "none", "for no part"],
)
def test_images_belong_to_a_user_s_message_one_to_each_of_its_image_parts(wrong: c.AddItem) -> None:
    assert type(InUnits().refuses(wrong)) is InvalidImage


def test_an_item_holds_so_many_images_and_so_many_bytes() -> None:
    talk = InUnits()
    assert type(talk.refuses(picture(*[JPEG] * 9))) is Backpressure
    big = c.Image("image/jpeg", bytes(3 * 1024 * 1024))
    assert type(talk.refuses(picture(big, big))) is Backpressure
    talk.do(picture(*[JPEG] * 8))
    half = c.Image("image/jpeg", bytes(2 * 1024 * 1024))
    talk.do(picture(half, half))


def test_so_many_images_may_wait_for_the_stage_and_no_more() -> None:
    talk = InUnits(auto=False)
    for _ in range(64):
        talk.talk_for(10, images=(JPEG, JPEG))
    assert type(talk.refuses(c.AppendAudio(pcm=pcm(10), images=(JPEG,)))) is Backpressure


# --- function calls ---------------------------------------------------------------------------------------


def calling(talk: InUnits, *, last: bool = True, call_id: str = "call_1") -> list[Any]:
    return talk.do(c.RecordCall(call_id=call_id, name="f", arguments='{"x": 1}', **talk.word(last=last)))


def test_a_call_is_an_item_of_its_own_behind_the_words_of_its_answer() -> None:
    talk = InUnits()
    talk.talk_for(UNIT_MS)
    talk.model_says("Let me see. ", 200, last=False)
    happened = calling(talk, last=False) + calling(talk, call_id="call_2")
    first, second = only(ToolCalled, happened)
    answer = talk.state.played[0].item
    assert (first.previous, second.previous) == (answer, first.item)
    assert [entry.item.id for entry in talk.state.entries] == [answer, first.item, second.item]
    kept = talk.state.entry(first.item)
    assert kept is not None
    assert (kept.item.kind, kept.item.call_id, kept.item.arguments) == ("function_call", "call_1", '{"x": 1}')


def test_a_call_may_be_all_that_the_model_says() -> None:
    talk = InUnits()
    talk.talk_for(2 * UNIT_MS)
    assert names(calling(talk))[:2] == ["ResponseCreated", "ToolCalled"]
    assert names(talk.model_listens())[-1] == "ResponseEnded", "it has spoken, and listens"


def test_a_call_that_is_said_again_is_one_call() -> None:
    talk = InUnits()
    talk.talk_for(UNIT_MS)
    again = c.RecordCall(call_id="call_1", name="f", arguments="{}", **talk.word(last=False))
    talk.do(again)
    assert talk.do(again) == []


def test_a_model_that_is_asked_may_call_too() -> None:
    talk = Asked(calls_tools=True).speaking("Let me see. ", 200)
    word = {"operation": talk.active.operation, "index": 1, "epoch": 0, "last": False}
    talk.do(c.RecordCall(call_id="call_1", name="f", arguments="{}", **word))
    talk.finish()
    assert [ended.outcome for ended in talk.all(ResponseEnded)] == ["completed"]


def output(call_id: str | None, text: str | None = "42") -> c.AddItem:
    item = Item(id=ItemId(""), kind="function_call_output", call_id=call_id, output=text)
    return c.AddItem(item=item)


def test_a_function_s_output_answers_one_call_that_is_there_once_as_text() -> None:
    talk = InUnits()
    talk.talk_for(UNIT_MS)
    calling(talk)
    for wrong, parameter in (
        (output("call_9"), "item.call_id"),
        (output(None), "item.call_id"),
        (output("call_1", None), "item.output"),
    ):
        refusal = talk.refuses(wrong)
        assert (type(refusal), refusal.parameter) == (InvalidOutput, parameter)
    talk.do(output("call_1"))
    assert talk.refuses(output("call_1")).parameter == "item.output"


def test_plain_clients_may_replay_outputs_of_calls_that_nobody_knows() -> None:
    Talk().do(output("call_9"))


def test_an_output_is_something_to_answer() -> None:
    talk = Asked().speaking()
    word = {"operation": talk.active.operation, "index": 1, "epoch": 0, "last": False}
    talk.do(c.RecordCall(call_id="call_1", name="f", arguments="{}", **word))
    talk.finish()
    talk.do(output("call_1"), c.CreateResponse())
    assert talk.active.operation is not None


# --- texts, signals, numbers ------------------------------------------------------------------------------


def test_what_the_user_writes_is_a_message_if_the_model_can_read_it() -> None:
    talk = Asked()
    [added] = only(ItemAdded, talk.do(c.AppendText(text="and this", client_event="evt_1")))
    assert (added.item.role, added.item.content[0].text, added.client_event) == ("user", "and this", "evt_1")
    assert type(InUnits().refuses(c.AppendText(text="hm"))) is CannotRead


def test_a_client_s_view_of_the_turn_is_told_and_obeyed_by_nobody() -> None:
    talk = Asked().speaking()
    before = (talk.state.fence, talk.state.turns)
    [told] = only(TurnSignalled, talk.do(c.SignalTurn(event="user_started", payload={"a": 1})))
    assert (told.event, told.payload) == ("user_started", {"a": 1})
    assert (talk.state.fence, talk.state.turns) == before


def test_frames_are_acknowledged_up_to_a_number_that_exists_and_never_less_than_before() -> None:
    talk = Asked()
    for beyond in (None, 0, 9):
        head = talk.state.seq * FRAMES_PER_EVENT
        wrong = -1 if beyond is None else head + beyond
        assert type(talk.refuses(c.AcknowledgeEvents(attachment=1, through=wrong))) is NoSuchFrame
    [kept] = only(EventsAcknowledged, talk.do(c.AcknowledgeEvents(attachment=1, through=130)))
    assert (kept.attachment, kept.through) == (1, 130)
    assert talk.do(c.AcknowledgeEvents(attachment=1, through=129)) == []
    assert talk.state.attached.acknowledged == 130


def test_an_item_that_is_taken_out_is_not_given_and_not_answered() -> None:
    talk = InUnits(auto=False)
    for _ in range(2):
        talk.talk_for(500)
        talk.commit()
    first, second = talk.state.entries
    talk.do(c.RemoveItem(item=first.item.id), c.CreateResponse())
    assert talk.given == [(500, 1_000, 500)]
    assert type(talk.refuses(c.RemoveItem(item=first.item.id))) is ItemNotFound
    assert second.item.id in {entry.item.id for entry in talk.state.entries}


# --- the end ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["asked", "in units"])
def test_case_35_ours_a_stage_that_dies_fails_the_answer_and_the_session_lives(kind: str) -> None:
    talk: Any
    if kind == "asked":
        talk = Asked().speaking()
    else:
        talk = InUnits()
        talk.talk_for(UNIT_MS)
        talk.model_says()
    happened = talk.do(c.RecordStage(stage="model", what="away", message="killed"))
    [ended] = only(ResponseEnded, happened)
    assert (ended.outcome, ended.reason) == ("failed", "stage_lost")
    assert talk.state.phase == "open"
    assert names(talk.wait(AWAY_S * 1_000))[-2:] == ["StageLost", "SessionFailed"]
    assert len(talk.all(SessionFailed)) == len(talk.all(ResponseEnded)) == 1


def test_a_written_question_is_answered_by_whoever_reads() -> None:
    talk = Asked(auto=True)
    talk.do(message("hello"))
    assert talk.state.turns.active is None, "items are answered when somebody asks"


# --- what a model that is asked sees of all this -----------------------------------------------------------


def lines(talk: Talk) -> list[Any]:
    """What the model was shown when it was asked last."""
    [asked] = [effect for effect in talk.effects if isinstance(effect, Answer)]
    return list(asked.conversation)


def call(talk: Talk, call_id: str, name: str = "weather") -> None:
    active = talk.active
    word = {"operation": active.operation, "index": active.next_index, "epoch": talk.state.fence.epoch}
    talk.do(c.RecordCall(call_id=call_id, name=name, arguments="{}", last=False, **word))


def test_a_model_sees_what_it_called_and_right_behind_it_what_came_back() -> None:
    talk = Asked(calls_tools=True)
    talk.do(message("Rain?"), c.CreateResponse())
    talk.say("Let me look. ", 100)
    for call_id in ("here", "there", "nowhere"):
        call(talk, call_id)
    talk.finish()
    talk.do(c.AcknowledgePlayback(heard_ms=100))
    talk.do(message("Hurry."), output("there", "wet"), output("here", "dry"), c.CreateResponse())
    said = [(line.role, line.text, [one.call_id for one in line.calls]) for line in lines(talk)]
    assert said == [
        ("user", "Rain?", []),
        ("assistant", "Let me look. ", ["here", "there"]),
        ("tool", "dry", []),
        ("tool", "wet", []),
        ("user", "Hurry.", []),
    ], "a call without its output is not shown"
    assert [line.call.call_id for line in lines(talk)[2:4]] == ["here", "there"]


def test_calls_of_an_answer_out_of_band_are_shown_to_nobody() -> None:
    talk = Asked(calls_tools=True)
    talk.do(message("Rain?"), c.CreateResponse(in_history=False))
    call(talk, "aside")
    talk.finish()
    talk.do(output("aside", "wet"), c.CreateResponse())
    assert [line.role for line in lines(talk)] == ["user"]


def test_only_a_model_that_calls_functions_is_told_of_any() -> None:
    tools = ({"type": "function", "name": "weather"},)
    for able in (True, False):
        talk = Asked(config=replace(ASKED, tools=tools), calls_tools=able)
        talk.do(message("Rain?"), c.CreateResponse())
        [asked] = [effect for effect in talk.effects if isinstance(effect, Answer)]
        assert asked.tools == (tools if able else ())


def test_a_model_sees_the_images_of_an_item_and_those_that_came_with_what_was_said() -> None:
    talk = Asked(sees=True)
    talk.do(picture(JPEG, PNG))
    talk.talk_for(500, images=(JPEG,))
    talk.talk_for(500)
    talk.commit(respond=True)
    talk.understand("and this?")
    received = [stored.seq for stored in talk.stored if isinstance(stored.event, ImageReceived)]
    assert [(line.text, list(line.images)) for line in lines(talk)] == [
        ("what is this?", received[:2]),
        ("and this?", received[2:]),
    ]
    assert talk.state.units.images == ()


def test_of_what_was_seen_before_anybody_spoke_the_latest_images_are_kept() -> None:
    talk = Asked(sees=True)
    for _ in range(20):
        talk.do(c.AppendAudio(pcm=b"", images=(JPEG,)))
    talk.talk_for(500)
    talk.commit(respond=True)
    talk.understand("look")
    [line] = lines(talk)
    assert list(line.images) == list(range(line.images[-1] - 7, line.images[-1] + 1))
