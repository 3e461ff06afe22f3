"""What a duplex client is shown of this and that, frame by frame."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from antiphon.actors.session import commands as c
from antiphon.events.vocabulary import Config
from tests.actors.session.duplex import ASKED, BY_ITSELF, Asked, InUnits
from tests.actors.session.given import Talk

from .duplex_laws import check, frames_of


def of(kind: str, talk: Talk) -> list[dict[str, Any]]:
    frames = frames_of(talk.stored)
    check(frames)
    return [frame for frame in frames if frame["type"] == kind]


def test_who_wants_to_know_is_told_how_long_an_answer_took_by_two_clocks() -> None:
    for wanted in (True, False):
        talk = Talk(detection=None, config=Config(engine={"return_stage_metrics": wanted}))
        talk.do(c.CreateResponse())
        asked = talk.active.operation
        talk.now_ms += 120
        word = {"operation": asked, "index": 0, "epoch": 0, "last": False}
        talk.do(c.RecordMeasure(name="first_token_ms", value_ms=90, **word))
        talk.say("Hello.", 400)
        talk.finish()
        [done] = of("response.done", talk)
        if wanted:
            assert done["response"]["metrics"]["stage"]["first_token_ms"] == 90
            assert done["response"]["metrics"]["server"]["asked_to_first_audio_ms"] == 120.0
            assert done["response"]["metrics"]["server"]["audio_ms"] == 400.0
        else:
            assert "metrics" not in done["response"]


def looking() -> InUnits:
    """An answer that calls a function."""
    talk = InUnits()
    talk.talk_for(1_000)
    talk.model_says("Let me look. ", last=False)
    talk.do(c.RecordCall(call_id="call_1", name="look", arguments='{"at": "sky"}', **talk.word(last=False)))
    talk.model_ends_its_turn()
    talk.unit_ends()
    return talk


def test_a_function_call_is_an_item_of_the_answer_that_makes_it() -> None:
    talk = looking()
    [done] = of("response.done", talk)
    message, call = done["response"]["output"]
    assert (message["type"], call["type"]) == ("message", "function_call")
    assert (call["call_id"], call["name"], call["arguments"]) == ("call_1", "look", '{"at": "sky"}')
    [arguments] = of("response.function_call_arguments.done", talk)
    assert (arguments["output_index"], arguments["item_id"]) == (1, call["id"])
    [delta] = of("response.function_call_arguments.delta", talk)
    assert delta["delta"] == arguments["arguments"]


def test_the_end_of_the_models_turn_is_told_and_what_converting_held_back_belongs_to_it() -> None:
    wanted = {"audio": {"output": {"format": {"type": "pcm16", "rate": 16_000}}}}
    talk = InUnits(config=replace(BY_ITSELF, echo=wanted))
    talk.talk_for(1_000)
    talk.model_says("One. ", last=False)
    talk.model_ends_its_turn()
    ends = [frame["metadata"]["end_of_turn"] for frame in of("response.output_audio.delta", talk)]
    assert ends == [False] * 5 + [True]
    [turn] = of("turn.event", talk)
    assert (turn["event"], turn["turn_id"], turn["model_turn_id"]) == ("model_turn_ended", 1, 0)
    [done] = of("response.done", talk)
    assert done["server_event_seq"] > turn["server_event_seq"]


def turns(talk: Talk) -> list[tuple[str, int]]:
    """Whatever names a turn and what it is, in order; of each answer only its beginning."""
    shown: list[tuple[str, int]] = []
    for frame in frames_of(talk.stored):
        kind = frame["type"]
        if kind == "turn.event":
            shown.append((frame["event"], frame["turn_id"]))
        elif kind == "input_audio_buffer.committed":
            shown.append(("committed", frame["event"]["turn_id"]))
        elif kind == "response.created":
            shown.append(("created", frame["turn_id"]))
    return shown


def test_a_turn_has_one_number_from_the_users_first_word_to_the_end_of_the_answer() -> None:
    talk = Asked(auto=True)
    for k in range(2):
        talk.do(c.SignalTurn(event="user_started"))
        talk.talk_for(1_000)
        talk.commit()
        talk.understand("hello")
        talk.do(c.SignalTurn(event="user_committed"))
        talk.say("Hello.", 200)
        talk.finish()
        talk.do(c.SignalTurn(event="assistant_done"))
        told = ["user_started", "committed", "created", "user_committed", "assistant_done"]
        assert turns(talk)[-5:] == [(event, k + 1) for event in told]


def test_what_is_deferred_gets_the_turn_in_which_it_will_be_answered() -> None:
    talk = Asked(auto=True).speaking()
    for _ in range(2):
        talk.talk_for(1_000)
        talk.commit()
        talk.understand("and then?")
    for _ in range(3):
        talk.finish()
    assert turns(talk) == [
        *(("committed", 1), ("created", 1)),
        *(("committed", 2), ("committed", 3)),
        *(("created", 2), ("created", 3)),
    ]


def test_only_who_has_room_for_several_sessions_says_so() -> None:
    for places, several in ((1, False), (2, True)):
        [created] = of("session.created", Asked(max_sessions=places))
        flags = created["session"]["capabilities"]
        assert flags["supports_multi_session"] is flags["supports_multi_session_same_replica"] is several


def test_an_overlap_is_told_with_its_rule() -> None:
    talk = InUnits(config=ASKED)
    talk.talk_for(1_000)
    talk.commit(respond=True)
    talk.model_says(last=False)
    talk.talk_for(400)
    [decision] = of("overlap.decision", talk)
    assert (decision["action"], decision["reason"], decision["policy"]) == (
        "listen",
        "policy_listen_only",
        "listen_only",
    )
    assert decision["metadata"]["overlap_speech_ms"] == decision["metadata"]["duration_ms"] == 400


def test_listening_without_an_answer_names_none_and_the_end_of_one_names_it() -> None:
    talk = InUnits(config=BY_ITSELF)
    talk.talk_for(2_000)
    talk.model_listens()
    [listen] = of("response.listen", talk)
    assert "response_id" not in listen
    assert listen["response"]["metadata"]["model_listen"] is True


def test_a_lost_detector_shows_in_the_session_that_goes_on_without_it() -> None:
    talk = Talk()
    talk.lose("voice")
    frames = frames_of(talk.stored)
    assert [frame["type"] for frame in frames[-2:]] == ["error", "session.updated"]
    assert frames[-2]["error"]["code"] == "server_vad_unavailable"
    assert frames[-1]["session"]["capabilities"]["supports_server_vad"] is False
    assert frames[-1]["session"]["turn_detection"] is None
