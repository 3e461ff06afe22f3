"""Architecture, section 2: what is true of every decision."""

from __future__ import annotations

import pytest

from antiphon.actors.session import commands as c
from antiphon.actors.session.refusals import (
    ActiveResponse,
    InvalidValue,
    ItemExists,
    ItemNotFound,
    NothingToCommit,
    NotSpeaking,
    PlaybackNotFound,
    Refused,
    SessionOver,
    VoiceDetectorMissing,
)
from antiphon.events.ids import ItemId, ResponseId, derived_id
from antiphon.events.units import Moment
from antiphon.events.vocabulary import (
    CommandRefused,
    EffectFailed,
    EffectStarted,
    Item,
    ItemAdded,
    Part,
    ResponseCreated,
    ResponseEnded,
    SessionFailed,
    TurnDetection,
    UnitSubmitted,
)

from .given import VAD, Talk, names, only


def note(text: str, id: str = "") -> c.AddItem:
    item = Item(id=ItemId(id), role="user", content=(Part(kind="input_text", text=text),))
    return c.AddItem(item=item)


REFUSED: list[tuple[c.Command, type[Refused]]] = [
    (c.CommitInput(client_event="a"), NothingToCommit),
    (c.CancelResponse(client_event="a"), NotSpeaking),
    (c.RemoveItem(client_event="a", item=ItemId("none")), ItemNotFound),
    (c.TruncateItem(client_event="a", item=ItemId("none"), audio_end_ms=0), ItemNotFound),
    (c.AcknowledgePlayback(client_event="a", response=ResponseId("none"), heard_ms=1), PlaybackNotFound),
    (c.Configure(client_event="a", output_modalities=("image",)), InvalidValue),
    (c.AddItem(client_event="a", item=Item(id=ItemId("x")), previous=ItemId("none")), ItemNotFound),
]


@pytest.mark.parametrize(("command", "kind"), REFUSED, ids=lambda x: type(x).__name__)
def test_a_refusal_changes_no_state(command: c.Command, kind: type[Refused]) -> None:
    talk = Talk()
    assert type(talk.refuses(command)) is kind
    assert names(talk.events[-1:]) == ["CommandRefused"]
    assert talk.effects == []


def test_a_refusal_is_itself_an_ancillary_event_that_names_who_asked_and_what() -> None:
    talk = Talk()
    talk.refuses(c.CommitInput(client_event="evt_7"), attachment=3)
    assert not talk.stored[-1].critical
    recorded = talk.all(CommandRefused)[-1]
    assert (recorded.attachment, recorded.client_event) == (3, "evt_7")
    assert recorded.code == "input_audio_buffer_commit_empty"


def test_a_client_that_is_refused_more_than_a_hundred_times_in_ten_seconds_is_disconnected() -> None:
    talk = Talk()
    for _ in range(100):
        talk.refuses(c.CancelResponse())
    assert talk.state.phase == "open"
    with pytest.raises(AssertionError):  # the 101st is a fact that does change the state
        talk.refuses(c.CancelResponse())
    assert talk.state.phase == "closed"
    assert talk.all(SessionFailed)[-1].code == "too_many_errors"


def test_refusals_far_apart_disconnect_nobody() -> None:
    talk = Talk()
    for _ in range(150):
        talk.refuses(c.CancelResponse())
        talk.now_ms += 200
    assert talk.state.phase == "open"


def test_only_one_response_is_generated_at_a_time() -> None:
    talk = Talk()
    talk.do(c.CreateResponse())
    assert type(talk.refuses(c.CreateResponse())) is ActiveResponse


def test_a_session_that_has_ended_accepts_nothing() -> None:
    talk = Talk()
    talk.do(c.CloseSession(reason="client"))
    with pytest.raises(SessionOver):
        talk.do(c.CreateResponse())
    assert talk.do(c.CloseSession(reason="client")) == []
    assert talk.wait(60_000) == []


def test_ids_are_functions_of_session_incarnation_seq_and_k() -> None:
    def ids(**named: object) -> list[str]:
        talk = Talk(**named)  # type: ignore[arg-type]
        talk.utterance()
        talk.say("Hi.", 500)
        talk.finish()
        talk.do(note("and"))
        named_here = [one.item for one in talk.all(ResponseCreated)]
        return [*named_here, *(one.response for one in talk.all(ResponseCreated)), talk.state.last_item or ""]

    first = ids()
    assert ids() == first
    assert len(set(first)) == len(first)
    assert set(ids(session="sess_2")).isdisjoint(first)
    assert set(ids(incarnation=1)).isdisjoint(first)


def test_an_id_is_derived_from_the_place_it_was_named_at() -> None:
    talk = Talk()
    at = talk.state.seq
    [added] = only(ItemAdded, talk.do(note("hello")))
    assert added.item.id == derived_id("item", talk.state.id, 0, at)


def test_a_client_s_own_item_id_is_kept_and_may_be_used_once() -> None:
    talk = Talk()
    talk.do(note("hello", id="mine"))
    assert talk.state.last_item == "mine"
    assert type(talk.refuses(note("again", id="mine"))) is ItemExists


def test_a_session_s_time_never_goes_back() -> None:
    talk = Talk()
    talk.hear(320)
    talk.now_ms = 10  # the clock of another process, or one that was set back
    talk.do(note("hello"))
    talk.refuses(c.CancelResponse())
    moments = [stored.at for stored in talk.stored]
    assert [at.mono_ns for at in moments] == sorted(at.mono_ns for at in moments)
    assert [at.wall_ns for at in moments] == sorted(at.wall_ns for at in moments)


def test_a_new_boot_starts_its_own_monotonic_time_while_wall_time_goes_on() -> None:
    talk = Talk()
    talk.now_ms = 5_000_000
    talk.hear(320)
    talk.boot, talk.now_ms = "boot-2", 20
    talk.open_writer()
    assert talk.state.at == Moment(20_000_000, talk.stored[-2].at.wall_ns)
    assert [name for name in names(talk.wait(1_000)) if name == "SpeechStopped"] == ["SpeechStopped"]


def test_the_configuration_is_merged_and_all_of_it_or_nothing_counts() -> None:
    talk = Talk()
    talk.do(c.Configure(instructions="be brief", echo={"audio": {"input": {"a": 1}}}))
    talk.do(c.Configure(voice="alba", echo={"audio": {"input": {"b": 2}}, "tracing": None}))
    config = talk.state.config
    assert (config.instructions, config.voice, config.turn_detection) == ("be brief", "alba", VAD)
    assert config.echo == {"audio": {"input": {"a": 1, "b": 2}}, "tracing": None}
    talk.refuses(c.Configure(voice="other", output_modalities=()))
    assert talk.state.config == config


def test_server_vad_without_a_detector_is_refused_by_name() -> None:
    talk = Talk(detection=None, detects_voice=False)
    refusal = talk.refuses(c.Configure(turn_detection=TurnDetection()))
    assert type(refusal) is VoiceDetectorMissing
    assert refusal.parameter == "session.audio.input.turn_detection"


def test_every_consequence_names_the_fact_that_caused_it() -> None:
    talk = Talk()
    talk.utterance()
    by_seq = {stored.seq: stored.event for stored in talk.stored}
    causes = {
        (type(stored.event).__name__, type(by_seq[stored.cause]).__name__)
        for stored in talk.stored
        if stored.cause is not None
    }
    assert {("InputCommitted", "SpeechStopped"), ("InputTranscribed", "InputCommitted")} <= causes
    assert {("ResponseCreated", "InputCommitted"), ("UnitSubmitted", "ResponseCreated")} <= causes


def test_effects_that_must_not_run_twice_append_effect_started_first_and_end_as_failed_after_a_crash() -> (
    None
):
    talk = Talk(must_not_repeat=True)
    talk.do(note("what time is it?"), c.CreateResponse())
    [started] = talk.all(EffectStarted)
    assert names(talk.events[-2:]) == ["UnitSubmitted", "EffectStarted"]
    assert type(talk.events[started.operation]) is UnitSubmitted
    assert [type(effect).__name__ for effect in talk.effects] == ["Answer"]

    happened = talk.open_writer()
    assert names(happened) == ["WriterOpened", "EpochAdvanced", "EffectFailed", "ResponseEnded"]
    assert only(EffectFailed, happened)[0].operation == started.operation
    assert only(ResponseEnded, happened)[0].outcome == "failed"
    assert [type(effect).__name__ for effect in talk.effects] == ["OpenStage", "OpenStage", "CancelStage"]


def test_a_new_writer_s_first_event_asks_again_for_what_is_outstanding() -> None:
    talk = Talk()
    talk.hear(400)
    talk.hear(256, 10)  # the recogniser has been asked and has not answered
    talk.open_writer()
    assert [type(effect).__name__ for effect in talk.effects] == ["OpenStage", "OpenStage", "Recognise"]


def test_a_log_is_opened_with_all_that_a_session_runs_by() -> None:
    talk = Talk()
    assert names(talk.events)[:3] == ["WriterOpened", "SessionOpened", "ClientAttached"]
    assert talk.restarted() == talk.state


def test_a_conversation_too_long_for_any_model_is_shown_from_its_newest_end() -> None:
    talk = Talk()
    for name in ("old", "long", "new"):
        text = "x" * 1_000_000 if name == "long" else name
        item = Item(id=ItemId(name), role="user", content=(Part(kind="input_text", text=text),))
        talk.do(c.AddItem(item=item))
    assert [text[:4] for _, text in talk.conversation] == ["xxxx", "new"]


def test_the_text_of_a_conversation_has_an_end() -> None:
    talk = Talk()
    long = Part(kind="input_text", text="x" * 900_000)
    for number in range(18):
        talk.do(c.AddItem(item=Item(id=ItemId(f"item-{number}"), role="user", content=(long,))))
    another = Item(id=ItemId("another"), role="user", content=(long,))
    assert talk.refuses(c.AddItem(item=another)).code == "invalid_value"
    small = Item(id=ItemId("small"), role="user", content=(Part(kind="input_text", text="still welcome"),))
    talk.do(c.AddItem(item=small))
