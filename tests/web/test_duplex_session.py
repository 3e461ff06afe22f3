"""The session object of the duplex dialect: what it may say, what it comes to, and what it is refused by."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from antiphon.actors.session.commands import Configure
from antiphon.events.vocabulary import Abilities, Config, Overlap, TurnDetection
from antiphon.projections.duplex.errors import CODES
from antiphon.projections.duplex.formats import output_format
from antiphon.projections.duplex.session import session_object
from antiphon.projections.duplex.view import View
from antiphon.web.duplex.opening import opened_config, usual_config
from antiphon.web.duplex.session import configure
from antiphon.web.realtime.undecodable import Undecodable
from tests.serving import RunningServer

from .wire import wire

ABLE = Abilities(stage="scripted", hears="utterances", detects_voice=True, transcribes=True)
VAD = {"type": "server_vad"}


def asked(session: dict[str, Any], present: Config | None = None, *, opening: bool = True) -> Configure:
    return configure(session, present or usual_config(ABLE, "model"), "e", opening=opening)


def opened(session: dict[str, Any]) -> Config:
    return opened_config(ABLE, usual_config(ABLE, "model"), asked(session))


def shown(session: dict[str, Any]) -> dict[str, Any]:
    """What session.created shows of a session that opened so."""
    config = opened(session)
    return session_object(View(1, abilities=ABLE, config=config, output=output_format(config)))


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("a model that is no name", {"model": 5}, "bad_event", "session.model"),
    ("pictures as answers", {"modalities": ["image"]}, "unsupported_response_modality", "session.output_modalities"),
    ("no modality", {"output_modalities": []}, "unsupported_response_modality", "session.output_modalities"),
    ("an unknown format", {"input_audio_format": "opus"}, "unsupported_audio_format", "session.input_audio_format"),
    ("files as input", {"input_audio_format": "wav"}, "unsupported_audio_format", "session.input_audio_format"),
    ("floats as output", {"output_audio_format": "f32le"}, "unsupported_audio_format", "session.output_audio_format"),
    ("a rate too high to hear", {"audio": {"input": {"format": {"type": "pcm", "rate": 400_000}}}}, "bad_event", "session.input_audio_format.rate"),
    ("a rate too high to send", {"audio": {"output": {"sample_rate_hz": 96_000}}}, "bad_event", "sample_rate_hz"),
    ("semantic_vad", {"turn_detection": {"type": "semantic_vad"}}, "unsupported_turn_detection", "turn_detection"),
    ("none as a type", {"turn_detection": {"type": "none"}}, "unsupported_turn_detection", "turn_detection"),
    ("an unknown member", {"turn_detection": {**VAD, "eagerness": "low"}}, "unsupported_turn_detection", "turn_detection"),
    ("not to interrupt", {"turn_detection": {**VAD, "interrupt_response": False}}, "unsupported_turn_detection", "turn_detection"),
    ("a threshold that is none", {"turn_detection": {**VAD, "threshold": 0.15}}, "unsupported_turn_detection", "turn_detection"),
    ("a threshold beyond all", {"audio": {"input": {"turn_detection": {**VAD, "threshold": 1.01}}}}, "unsupported_turn_detection", "turn_detection"),
    ("endless silence", {"turn_detection": {**VAD, "silence_duration_ms": 99_999}}, "unsupported_turn_detection", "turn_detection"),
    ("a flag that is a word", {"turn_detection": {**VAD, "create_response": "yes"}}, "unsupported_turn_detection", "turn_detection"),
    ("barge-in without a detector", {"overlap_policy": "barge_in_on_speech"}, "unsupported_turn_detection", "session.overlap_policy"),
    ("a detector without barge-in", {"turn_detection": VAD, "overlap_policy": "listen_only"}, "unsupported_turn_detection", "session.overlap_policy"),
    ("an unknown policy", {"overlap_policy": "sing"}, "bad_event", "session.overlap_policy"),
    ("an unknown commit policy", {"playback_commit_policy": "never"}, "bad_event", "session.playback_commit_policy"),
    ("a negative temperature", {"temperature": -1}, "bad_event", "session.temperature"),
    ("no tokens", {"max_tokens": 0}, "bad_event", "session.max_output_tokens"),
    ("a word for tokens", {"max_output_tokens": "many"}, "bad_event", "session.max_output_tokens"),
    ("auto_response by a word", {"extra_body": {"auto_response": "yes"}}, "bad_event", "session.extra_body.auto_response"),
    ("a file of the server's", {"ref_audio_path": "/etc/passwd"}, "unsupported_ref_audio_path", "session.ref_audio_path"),
    ("and another", {"tts_ref_audio_path": "x"}, "unsupported_ref_audio_path", "session.ref_audio_path"),
    ("the server's own options", {"extra_body": {"duplex_stage_max_tokens": 9}}, "invalid_duplex_runtime_config", "session.extra_body.duplex_stage_max_tokens"),
    ("and those of its window", {"extra_body": {"duplex_window_high": 9}}, "invalid_duplex_runtime_config", "session.extra_body.duplex_window_high"),
    ("a number no event holds", {"tracing": 2**64}, "bad_event", "session"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("session", "code", "parameter"), [case[1:] for case in REFUSED], ids=[c[0] for c in REFUSED]
)
def test_what_is_refused(session: dict[str, Any], code: str, parameter: str) -> None:
    with pytest.raises(Undecodable) as caught:
        asked(session)
    bad = caught.value
    assert (CODES.get(bad.code, bad.code), bad.param, bad.client_event) == (code, parameter, "e")


def test_the_format_is_looked_at_before_turn_detection() -> None:
    with pytest.raises(Undecodable) as caught:
        asked({"input_audio_format": "opus", "turn_detection": {"type": "telepathy"}})
    assert caught.value.code == "unsupported_audio_format"


def test_a_session_that_says_nothing_is_the_models_to_lead_and_counts_what_is_acknowledged() -> None:
    says = shown({})
    assert says["model"] == "model"
    assert says["modalities"] == says["output_modalities"] == ["text", "audio"]
    assert says["turn_detection"] is None
    assert (says["overlap_policy"], says["playback_commit_policy"]) == ("listen_only", "ack_only")
    assert (says["overlap_short_ack_ms"], says["overlap_barge_in_ms"], says["overlap_silence_rms"]) == (
        700,
        1_200,
        0.003,
    )
    assert (says["input_audio_format"], says["sample_rate_hz"]) == ("pcm16", 16_000)
    assert says["audio"]["output"]["format"] == {"type": "audio/pcm", "rate": 24_000}
    assert (says["auto_response"], says["max_tokens"], says["idle_timeout_s"]) == (False, None, 300.0)


@pytest.mark.parametrize(
    "session",
    [
        {"input_audio_format": "mulaw", "output_audio_format": "g711_alaw"},
        {"input_audio_format": {"type": "audio/g711_ulaw"}, "response_format": "alaw"},
        {
            "audio": {
                "input": {"format": "ulaw", "sample_rate_hz": 8_000},
                "output": {"format": {"type": "alaw", "rate": 8_000}},
            }
        },
        {"input_audio_format": "pcm16", "audio": {"input": {"format": "ulaw"}, "output": {"format": "alaw"}}},
    ],
)
def test_formats_have_many_names_and_places_and_are_shown_in_one_way(session: dict[str, Any]) -> None:
    says = shown(session)
    assert (says["input_audio_format"], says["output_audio_format"]) == ("g711_ulaw", "g711_alaw")
    assert says["response_format"] == "g711_alaw"
    assert says["audio"]["input"]["format"] == {"type": "audio/pcmu", "rate": 8_000}
    assert says["audio"]["output"]["format"] == {"type": "audio/pcma", "rate": 8_000}


def test_server_vad_lets_the_user_in_and_its_silence_is_floored() -> None:
    config = opened(
        {"turn_detection": {**VAD, "threshold": 0.6, "min_speech_duration_ms": 5, "silence_duration_ms": 700}}
    )
    assert config.turn_detection == TurnDetection(
        threshold_permille=600, min_speech_ms=32, silence_duration_ms=700
    )
    assert config.overlap is not None
    assert config.overlap.policy == "barge_in_on_speech"


def test_the_models_own_options_reach_it_and_are_not_shown() -> None:
    session = {
        "extra_body": {"auto_response": True, "force_listen_count": 2, "duplex_initial_user_text": "hi"},
        "ref_audio": "data:audio/wav;base64,AAAA",
    }
    config = opened(session)
    assert config.auto_response is True
    assert config.engine == {
        "force_listen_count": 2,
        "initial_user_text": "hi",
        "ref_audio": "data:audio/wav;base64,AAAA",
    }
    says = shown(session)
    assert not {"extra_body", "ref_audio", "engine"} & says.keys()
    assert says["auto_response"] is True


def test_what_means_nothing_here_is_shown_back_but_not_what_is_ours_to_say() -> None:
    says = shown(
        {"metadata": {"a": "b"}, "include": ["x"], "id": "mine", "epoch": 9, "capabilities": {}, "speed": 1.5}
    )
    assert (says["metadata"], says["include"], says["speed"]) == ({"a": "b"}, ["x"], 1.5)
    assert says["id"] != "mine"
    assert says["epoch"] == 0
    assert says["capabilities"]["supports_barge_in"] is True


def test_the_first_of_three_names_says_how_long_an_answer_is() -> None:
    assert asked({"max_response_output_tokens": "inf", "max_tokens": 5}).max_output_tokens is None
    assert asked({"max_output_tokens": 7, "max_tokens": 5}).max_output_tokens == 7
    assert asked({}).max_output_tokens is UNSET


def test_an_update_keeps_what_it_does_not_say() -> None:
    present = Config(
        overlap=Overlap(short_ack_ms=300),
        engine={"force_listen_count": 2},
        echo={"audio": {"input": {"format": {"type": "g711_ulaw", "rate": 8_000}}}},
    )
    update = asked(
        {"overlap_barge_in_ms": 900, "sample_rate_hz": 16_000, "extra_body": {"x": 1}}, present, opening=False
    )
    assert update.overlap == Overlap(short_ack_ms=300, barge_in_ms=900)
    assert update.engine == {"force_listen_count": 2, "x": 1}
    assert update.echo["audio"]["input"]["format"] == {"type": "g711_ulaw", "rate": 16_000}
    for name in (
        "instructions",
        "voice",
        "turn_detection",
        "temperature",
        "tools",
        "playback",
        "auto_response",
    ):
        assert getattr(update, name) is UNSET, name


def test_the_voice_to_speak_with_is_given_once() -> None:
    present = Config(engine={"ref_audio": "data:a"})
    assert asked({"ref_audio": "data:a"}, present, opening=False).engine == {"ref_audio": "data:a"}
    with pytest.raises(Undecodable) as caught:
        asked({"ref_audio": "data:b"}, present, opening=False)
    assert caught.value.code == "ref_audio_update_unsupported"


async def test_a_client_may_send_back_the_session_that_it_was_shown(echo_server: RunningServer) -> None:
    async with wire(echo_server, "?duplex=1") as client:
        await client.send(
            {"type": "session.update", "session": {"turn_detection": VAD, "tools": [{"name": "f"}]}}
        )
        before = (await client.next("session.updated"))["session"]
        await client.send({"type": "session.update", "session": before})
        assert (await client.next("session.updated"))["session"] == before


async def test_a_refused_update_changes_nothing_neither_session_nor_how_audio_is_read(
    echo_server: RunningServer,
) -> None:
    """Not even the part of it that could have been done (the reference's weakness R)."""
    async with wire(echo_server, "?duplex=1") as client:
        await client.send({"type": "session.update", "session": {"instructions": "be brief"}})
        before = (await client.next("session.updated"))["session"]
        refused = {
            "input_audio_format": "g711_ulaw",
            "instructions": "shout",
            "turn_detection": {"type": "semantic_vad"},
        }
        await client.send({"type": "session.update", "event_id": "bad", "session": refused})
        error = (await client.next("error"))["error"]
        assert (error["code"], error["event_id"]) == ("unsupported_turn_detection", "bad")
        await client.send({"type": "session.update", "session": {}})
        after = await client.next("session.updated")
        assert after["session"] == before
        assert after["config_generation"] == 1

        await client.append(b"\x00\x10" * 16_000)
        frames = await client.until("response.speak")
        await client.send({"type": "input_audio_buffer.commit"})
        frames += await client.until("response.done")
        audio = [frame["metadata"] for frame in frames if frame["type"] == "response.output_audio.delta"]
        assert audio[-1]["audio_duration_ms"] == 1_000
