"""A recorded client as frames for another server. That one can be sent them: tests/cli/test_replay_live.py."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon.events.envelope import BlobRef
from antiphon.events.ids import Fence, ItemId, Operation, ResponseId
from antiphon.events.memory import MemoryLog
from antiphon.events.units import Millis, Samples
from antiphon.events.vocabulary import (
    Config,
    Event,
    InputAppended,
    InputCommitted,
    Item,
    ItemAdded,
    ItemRemoved,
    ItemTruncated,
    Part,
    ResponseCreated,
    SessionConfigured,
    ToolCalled,
    TurnDetection,
)
from antiphon.replay.playing import Due, frames, opening
from antiphon.replay.rerun.names import Named, NoCounterpart
from antiphon.replay.rerun.wishes import script_of

from .calls import Call

THERE = {"item": ["there_0", "there_1", "there_2", "there_3"], "call": ["call_there"]}


def sent(*events: Event) -> list[Due]:
    """What a client sends in whose log these events are, 100 ms apart."""
    call = Call(MemoryLog())
    for k, event in enumerate(events):
        call.say(100 * (k + 1), event)
    named = Named()
    for stored in call.log.read(call.session):
        named.note(stored.event)

    def payload(ref: BlobRef) -> bytes:
        return call.log.read_blob(call.session, ref)

    return list(frames(script_of(call.log.read(call.session)), named, payload))


def words(name: str, previous: str | None) -> ItemAdded:
    content = (Part(kind="input_text", text=f"This is {name}."),)
    placed = None if previous is None else ItemId(previous)
    return ItemAdded(item=Item(id=ItemId(name), role="user", content=content), previous=placed)


def asked(**options: Any) -> ResponseCreated:
    fence = Fence(Call(MemoryLog()).session, 0, 0, 1, ResponseId("resp_1"))
    return ResponseCreated(response=ResponseId("resp_1"), item=ItemId("item_1"), fence=fence, **options)


def called(call: str) -> ToolCalled:
    return ToolCalled(
        response=ResponseId("resp_1"),
        item=ItemId("item_call"),
        call_id=call,
        name="look",
        arguments="{}",
        operation=Operation(0),
        index=0,
    )


def output(call: str) -> ItemAdded:
    returned = Item(id=ItemId("item_out"), kind="function_call_output", call_id=call, output="sunny")
    return ItemAdded(item=returned, previous=ItemId("item_call"))


def test_items_are_called_what_the_live_session_calls_them() -> None:
    removed = ItemRemoved(item=ItemId("item_b"))
    cut = ItemTruncated(item=ItemId("item_1"), response=ResponseId("resp_1"), audio_end_ms=Millis(200))
    *_, first, second = sent(words("item_a", None), words("item_b", "item_a"), asked(), removed, cut)
    assert first.addressed(THERE) == {"type": "conversation.item.delete", "item_id": "there_1"}
    assert second.addressed(THERE)["item_id"] == "there_2"
    assert second.addressed(THERE)["audio_end_ms"] == 200
    assert second.at_s == pytest.approx(0.5)


def test_an_item_stands_behind_what_it_stood_behind() -> None:
    dues = sent(words("item_a", None), words("item_b", "item_a"), words("item_c", "item_a"))
    placed = [due.addressed(THERE)["previous_item_id"] for due in dues]
    assert placed == ["root", "there_0", "there_0"]


def test_an_item_stands_at_the_end_where_what_it_stood_behind_is_not_there() -> None:
    _, second = sent(words("item_a", None), words("item_b", "item_a"))
    frame = second.addressed({"item": [], "call": []})
    assert "previous_item_id" not in frame
    assert frame["item"]["content"] == [{"type": "input_text", "text": "This is item_b."}]


def test_the_output_of_a_function_goes_to_the_call_that_is_made_there() -> None:
    *_, returned = sent(asked(), called("call_here"), output("call_here"))
    frame = returned.addressed(THERE)
    assert (frame["item"]["call_id"], frame["item"]["output"]) == ("call_there", "sunny")
    assert frame["previous_item_id"] == "there_1"


def test_a_call_that_the_client_made_up_keeps_its_name() -> None:
    made = ItemAdded(item=Item(id=ItemId("item_made"), kind="function_call", call_id="mine", name="look"))
    *_, returned = sent(asked(), called("call_here"), made, output("mine"))
    assert returned.addressed(THERE)["item"]["call_id"] == "mine"


@pytest.mark.parametrize(
    ("event", "missing"),
    [(ItemRemoved(item=ItemId("item_a")), "item 0"), (output("call_here"), "call 0")],
)
def test_what_is_about_something_that_is_not_there_cannot_be_said(event: Event, missing: str) -> None:
    *_, last = sent(words("item_a", None), asked(), called("call_here"), event)
    with pytest.raises(NoCounterpart, match=missing):
        last.addressed({"item": [], "call": []})


def test_everything_of_a_configuration_that_the_protocol_can_say_is_said() -> None:
    config = Config(
        instructions="Be brief.", voice="alba", max_output_tokens=200, turn_detection=TurnDetection()
    )
    heard = InputAppended(samples=Samples(10), until_sample=Samples(10))
    later = SessionConfigured(config=config, generation=1)
    undone = SessionConfigured(config=Config(), generation=2)
    _, first, second = (due.frame for due in sent(heard, later, undone))
    session = first["session"]
    assert (session["instructions"], session["max_output_tokens"]) == ("Be brief.", 200)
    assert session["audio"]["output"] == {"voice": "alba"}
    assert session["audio"]["input"]["turn_detection"]["silence_duration_ms"] == 500
    assert second["session"]["max_output_tokens"] == "inf"
    assert second["session"]["audio"] == {"input": {"turn_detection": None}, "output": {"voice": None}}


def test_a_call_is_opened_as_it_was_configured_before_anything_was_said() -> None:
    call = Call(MemoryLog())
    config = Config(voice="alba", max_output_tokens=200)
    call.say(5, SessionConfigured(config=config, generation=1))
    session = opening(script_of(call.log.read(call.session)))
    assert session["max_output_tokens"] == 200
    assert session["audio"] == {"input": {"turn_detection": None}, "output": {"voice": "alba"}}


def test_an_answer_is_asked_for_as_it_was() -> None:
    (due,) = sent(asked(instructions="Sing.", voice="alba", max_output_tokens=20, in_history=False))
    assert due.frame["response"] == {
        "instructions": "Sing.",
        "max_output_tokens": 20,
        "audio": {"output": {"voice": "alba"}},
        "conversation": "none",
    }


def test_an_answer_that_came_with_a_commit_is_asked_for_behind_it() -> None:
    committed = InputCommitted(
        item=ItemId("item_a"),
        from_sample=Samples(0),
        until_sample=Samples(10),
        by="client",
        outcome="asked",
    )
    dues = sent(InputAppended(samples=Samples(10), until_sample=Samples(10)), committed)
    assert [due.frame["type"] for due in dues] == [
        "input_audio_buffer.append", "input_audio_buffer.commit", "response.create",
    ]  # fmt: skip
