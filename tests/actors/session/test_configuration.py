"""The contract's sections 4.1 and 5.8: updates count as a whole, in order, and when the stage agrees."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from antiphon.actors.session import commands as c
from antiphon.actors.session import effects as e
from antiphon.actors.session.absence import AWAY_S
from antiphon.actors.session.refusals import (
    Backpressure,
    InvalidValue,
    ModelIsFixed,
    VoiceDetectorMissing,
    VoiceWasHeard,
)
from antiphon.events.vocabulary import (
    Config,
    ConfigProposed,
    ConfigRefused,
    Overlap,
    SessionConfigured,
    SessionFailed,
    TurnDetection,
)

from .duplex import ASKED, BY_ITSELF, Asked, InUnits, message
from .given import Talk, names, only


def settled(generation: int = 1) -> c.RecordStage:
    return c.RecordStage(stage="model", what="configured", generation=generation)


def refused(generation: int = 1) -> c.RecordStage:
    code = "instructions_update_unsupported"
    return c.RecordStage(
        stage="model", what="config_refused", generation=generation, code=code, message="too late"
    )


def asked_for(talk: Talk) -> list[e.ProposeConfig]:
    return [effect for effect in talk.effects if isinstance(effect, e.ProposeConfig)]


# --- what may change --------------------------------------------------------------------------------------


def test_every_member_is_merged_and_what_is_not_given_stays() -> None:
    talk = Asked()
    change: dict[str, Any] = {
        "instructions": "be brief",
        "voice": "alba",
        "output_modalities": ("text",),
        "turn_detection": TurnDetection(),
        "transcription": True,
        "max_output_tokens": 9,
        "temperature": 0.5,
        "model": "m",
        "auto_response": True,
        "playback": "commit_all_on_done",
        "tools": ({"name": "f"},),
        "tool_choice": "none",
        "engine": {"window": 3},
    }
    for name, value in change.items():
        talk.do(c.Configure(**{name: value}))
    for name, value in change.items():
        assert getattr(talk.state.config, name) == value
    assert talk.state.config.strict
    assert talk.state.generation == len(change)


def test_a_generation_counts_the_configurations_that_held_one_by_one() -> None:
    talk = Asked()
    talk.do(c.Configure(voice="a"))
    talk.refuses(c.Configure(voice="b", output_modalities=("image",)))
    talk.do(c.Configure(voice="c"))
    assert [one.generation for one in talk.all(SessionConfigured)] == [1, 2]


def test_case_22_the_model_is_fixed_and_the_voice_once_it_was_heard() -> None:
    talk = Asked(config=replace(ASKED, model="m1", voice="alba"))
    assert type(talk.refuses(c.Configure(model="m2"))) is ModelIsFixed
    talk.do(c.Configure(model="m1", voice="bert"))
    talk.do(message("hello"), c.CreateResponse())
    talk.do(c.Configure(voice="carl"))
    talk.say("One.", 100)
    assert type(talk.refuses(c.Configure(voice="alba", instructions="x"))) is VoiceWasHeard
    talk.do(c.Configure(voice="carl"))
    assert (talk.state.config.voice, talk.state.config.instructions) == ("carl", "")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"instructions": "new"}, "instructions_update_unsupported"),
        ({"voice": "new"}, "voice_update_unsupported"),
        ({"temperature": 0.1}, "unsupported"),
        ({"max_output_tokens": 3}, "unsupported"),
        ({"engine": {"a": 1}}, "unsupported"),
    ],
    ids=lambda one: str(one),
)
def test_a_stage_that_cannot_be_told_anew_keeps_what_it_was_opened_with(
    change: dict[str, Any], code: str
) -> None:
    talk = InUnits()
    refusal = talk.refuses(c.Configure(**change))
    assert (refusal.code, refusal.parameter) == (code, f"session.{next(iter(change))}")
    talk.do(c.Configure(instructions="", playback="estimate"))
    loose = InUnits(config=replace(BY_ITSELF, strict=False))
    loose.do(c.Configure(**change))
    confirming = InUnits(confirms_config=True)
    confirming.do(c.Configure(**change))
    assert confirming.state.proposals


def test_plain_sessions_change_their_voice_whenever_they_like() -> None:
    talk = Talk(detection=None)
    talk.answer()
    talk.do(c.Configure(voice="alba"))
    assert talk.state.config.voice == "alba"


def test_the_overlap_policy_follows_who_takes_turns() -> None:
    talk = Asked()
    talk.do(c.Configure(turn_detection=TurnDetection()))
    assert talk.state.config.overlap == Overlap(policy="barge_in_on_speech")
    talk.do(c.Configure(overlap=Overlap(policy="listen_only", short_ack_ms=300)))
    assert talk.state.config.overlap == Overlap(policy="barge_in_on_speech", short_ack_ms=300)
    talk.do(c.Configure(turn_detection=None))
    assert talk.state.config.overlap == Overlap(policy="listen_only", short_ack_ms=300)
    plain = Talk()
    plain.do(c.Configure(turn_detection=None))
    assert plain.state.config.overlap is None


def test_a_detector_that_goes_leaves_a_session_that_only_listens() -> None:
    talk = Asked(
        config=replace(ASKED, overlap=Overlap(policy="barge_in_on_speech")), detection=TurnDetection()
    )
    talk.lose("voice")
    assert talk.state.config.overlap == Overlap(policy="listen_only")
    assert talk.state.generation == 0, "nobody asked for it"


# --- two phases -------------------------------------------------------------------------------------------


def test_a_configuration_holds_only_once_the_stage_has_taken_it() -> None:
    talk = Asked(confirms_config=True)
    happened = talk.do(c.Configure(instructions="be brief", client_event="evt_1"))
    assert names(happened) == ["ConfigProposed", "UnitSubmitted"]
    [asked] = asked_for(talk)
    assert (asked.generation, asked.config.instructions) == (1, "be brief")
    assert talk.state.config == ASKED
    [held] = only(SessionConfigured, talk.do(settled()))
    assert (held.generation, held.client_event, held.config.instructions) == (1, "evt_1", "be brief")
    assert talk.do(settled()) == [], "said twice"


def test_case_21_a_configuration_that_the_stage_refuses_changes_nothing_at_all() -> None:
    talk = Asked(confirms_config=True)
    change = c.Configure(
        turn_detection=TurnDetection(), auto_response=True, echo={"audio": 1}, client_event="evt_1"
    )
    talk.do(change)
    happened = talk.do(refused())
    assert names(happened) == ["ConfigRefused"]
    [told] = only(ConfigRefused, happened)
    assert (told.code, told.client_event) == ("instructions_update_unsupported", "evt_1")
    assert (talk.state.config, talk.state.generation, talk.state.proposals) == (ASKED, 0, ())


def test_case_21_what_was_heard_before_an_update_runs_by_the_old_one_and_what_comes_after_by_the_new() -> (
    None
):
    talk = InUnits(confirms_config=True)
    talk.talk_for(2_500)
    talk.do(c.Configure(instructions="new"))
    talk.talk_for(1_000)
    assert asked_for(talk) == []
    talk.model_listens()
    assert talk.given[-1] == (1_000, 2_000, 0), "two units were there before the update"
    talk.model_listens()
    assert [type(effect) for effect in talk.effects] == [e.ProposeConfig]
    assert talk.is_idle, "none is given between the question and its answer"
    talk.talk_for(500)
    assert talk.is_idle
    happened = talk.do(settled())
    assert names(happened) == ["SessionConfigured", "UnitSubmitted"]
    assert talk.given[-1] == (2_000, 3_000, 0)


def test_case_21_a_refused_update_lets_the_units_go_on_by_the_old_configuration() -> None:
    talk = InUnits(confirms_config=True)
    talk.do(c.Configure(instructions="new"))
    talk.talk_for(1_000)
    assert talk.is_idle
    assert names(talk.do(refused())) == ["ConfigRefused", "UnitSubmitted"]
    assert talk.state.config == BY_ITSELF


def test_a_commit_before_an_update_is_given_to_its_end_before_it() -> None:
    talk = InUnits(confirms_config=True)
    talk.talk_for(1_300)
    talk.commit()
    talk.do(c.Configure(instructions="new"))
    talk.model_listens()
    assert (talk.given[-1], talk.unit.final) == ((1_000, 1_300, 700), True)
    talk.model_listens()
    assert talk.state.proposals[0].operation is not None


def test_one_update_is_with_the_stage_and_later_ones_build_on_it_in_order() -> None:
    talk = Asked(confirms_config=True)
    talk.do(c.Configure(instructions="one"), c.Configure(voice="two"))
    assert [one.generation for one in talk.all(ConfigProposed)] == [1, 2]
    talk.effects = []
    happened = talk.do(settled(1))
    assert names(happened) == ["SessionConfigured", "UnitSubmitted"]
    assert [asked.generation for asked in asked_for(talk)] == [2]
    talk.do(settled(2))
    assert (talk.state.config.instructions, talk.state.config.voice) == ("one", "two")
    assert talk.state.generation == 2


def test_updates_that_build_on_a_refused_one_are_aborted_with_it() -> None:
    talk = Asked(confirms_config=True)
    talk.do(c.Configure(instructions="one", client_event="a"), c.Configure(voice="two", client_event="b"))
    happened = talk.do(refused(1))
    assert [(told.code, told.client_event) for told in only(ConfigRefused, happened)] == [
        ("instructions_update_unsupported", "a"),
        ("session_update_aborted", "b"),
    ]
    talk.do(c.Configure(voice="three"))
    talk.do(settled(1))
    assert (talk.state.config.voice, talk.state.generation) == ("three", 1)


def test_an_answer_about_another_configuration_settles_nothing() -> None:
    talk = Asked(confirms_config=True)
    talk.do(c.Configure(instructions="one"))
    assert talk.do(settled(7), refused(0)) == []
    assert Asked(confirms_config=True).do(settled(1)) == []


def test_what_a_client_cannot_have_is_refused_before_the_stage_is_asked() -> None:
    talk = Asked(confirms_config=True)
    assert type(talk.refuses(c.Configure(output_modalities=("image",)))) is InvalidValue
    assert talk.all(ConfigProposed) == []


def test_a_detector_that_goes_while_the_stage_thinks_is_gone_afterwards() -> None:
    talk = Asked(confirms_config=True)
    talk.do(c.Configure(turn_detection=TurnDetection(), instructions="new"))
    talk.do(c.RecordStage(stage="voice", what="away", message="killed"))
    talk.do(settled())
    talk.wait(AWAY_S * 1_000)
    assert (talk.state.config.instructions, talk.state.config.turn_detection) == ("new", None)
    assert type(talk.refuses(c.Configure(turn_detection=TurnDetection()))) is VoiceDetectorMissing


def test_so_many_updates_may_wait_and_no_more() -> None:
    talk = Asked(confirms_config=True)
    for k in range(8):
        talk.do(c.Configure(voice=f"v{k}"))
    assert type(talk.refuses(c.Configure(voice="one more"))) is Backpressure


def test_a_stage_that_never_settles_an_update_ends_the_session() -> None:
    """Nobody knows by which configuration it runs."""
    talk = Asked(confirms_config=True)
    talk.now_ms += 7_000
    talk.do(c.Configure(voice="a"))
    assert talk.wait(59_999) == []
    happened = talk.wait(1)
    assert [failed.code for failed in only(SessionFailed, happened)] == ["stage_timeout"]


def test_a_new_writer_asks_again_for_what_is_not_settled_and_opens_the_stage_by_what_holds() -> None:
    talk = Asked(confirms_config=True)
    talk.do(c.Configure(voice="a"), c.Configure(voice="b"))
    talk.open_writer()
    assert [asked.generation for asked in asked_for(talk)] == [1]
    [opened] = [one for one in talk.effects if isinstance(one, e.OpenStage) and one.stage == "model"]
    assert opened.config == talk.state.config
    talk.do(settled(1))
    talk.open_writer()
    assert [asked.generation for asked in asked_for(talk)] == [2]


@pytest.mark.parametrize("auto", [True, False])
def test_switching_between_streaming_and_asking_gives_nothing_twice_and_nothing_old(auto: bool) -> None:
    talk = InUnits(auto=auto)
    talk.talk_for(1_300)
    if auto:
        talk.model_listens()
        talk.do(c.Configure(auto_response=False))
        talk.talk_for(1_000)
        talk.commit(respond=True)
        talk.model_listens()
        assert talk.given == [(0, 1_000, 0), (1_000, 2_000, 0), (2_000, 2_300, 700)]
    else:
        talk.commit()
        talk.talk_for(200)
        talk.do(c.Configure(auto_response=True))
        talk.talk_for(800)
        assert talk.given == [(1_300, 2_300, 0)], "what nobody asked about is not given"


def test_a_session_opens_with_generation_0() -> None:
    talk = Talk(config=Config(voice="alba"))
    assert talk.state.generation == 0


def test_a_session_without_a_detector_can_be_told_everything_else() -> None:
    talk = Talk(detection=None, detects_voice=False)
    talk.do(c.Configure(instructions="be brief"), c.Configure(turn_detection=None))
    assert talk.state.config.instructions == "be brief"


def test_an_update_that_was_not_put_to_the_stage_is_not_settled_by_it() -> None:
    talk = InUnits(confirms_config=True)
    talk.talk_for(1_000)
    talk.do(c.Configure(instructions="new"))
    assert talk.do(settled(1)) == []
    assert talk.state.generation == 0


def test_after_a_boot_a_stage_has_its_time_again_to_settle_an_update() -> None:
    talk = Asked(confirms_config=True)
    talk.do(c.Configure(voice="a"), c.Configure(voice="b"))
    talk.boot, talk.now_ms = "boot-2", 50
    talk.open_writer()
    talk.do(*(c.RecordStage(stage=stage, what="opened") for stage in ("model", "voice")))
    assert talk.wait(59_999) == []
    talk.do(settled(1), settled(2))
    assert talk.state.config.voice == "b"


def test_nothing_is_settled_after_the_end() -> None:
    talk = Asked(confirms_config=True)
    talk.do(c.Configure(voice="a"), c.CloseSession(reason="client"))
    assert talk.do(settled(1)) == []
