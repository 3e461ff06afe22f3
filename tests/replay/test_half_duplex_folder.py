"""The recording's folder of a half-duplex call: what is in it, and that it is what was said."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from antiphon.actors.session import commands as c
from antiphon.events.ids import SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.store import Scope
from antiphon.media.wav import read_wav
from antiphon.replay.half_duplex.folder import Folder
from antiphon.replay.half_duplex.turns import NotACall
from tests.actors.modes.calls import PhoneCall, asked
from tests.actors.session.given import Talk

from .half_duplex_calls import two_turns, written

NAME = SessionId("sess_1")


def folder_of(call: Talk) -> Folder:
    return Folder(written(call, MemoryLog()), NAME)


def contents(folder: Folder, name: str) -> Any:
    found = folder.file(name)
    assert found is not None, name
    return json.loads(found) if name.endswith(".json") else read_wav(found)


def test_the_files_are_named_as_the_demo_names_them() -> None:
    folder = folder_of(two_turns())
    assert folder.names == (
        "meta.json",
        "recording.json",
        "user_audio/000.wav",
        "ai_audio/turn_0.wav",
        "user_audio/001.wav",
        "ai_audio/turn_1.wav",
    )


def test_the_turns_say_what_was_asked_and_answered_and_how_it_ended() -> None:
    recording = contents(folder_of(two_turns()), "recording.json")
    assert (recording["session_id"], recording["mode"]) == ("sess_1", "half_duplex_audio")
    assert recording["config"] == {"timeout_s": 180.0}
    first, second = recording["turns"]
    assert first == {
        "turn_index": 0,
        "request_ts_ms": first["request_ts_ms"],
        "input": {"type": "voice", "duration_ms": 350, "audio": "user_audio/000.wav"},
        "output": {
            "text": "Good morning.",
            "status": "completed",
            "audio": "ai_audio/turn_0.wav",
            "audio_duration_ms": 500,
        },
        "timing": {"elapsed_ms": 160.0, "speech_input_ms": 350},
    }
    assert (second["output"]["text"], second["output"]["status"]) == ("Nothing", "cancelled")
    assert 500 < first["request_ts_ms"] < second["request_ts_ms"]


def test_the_sounds_are_what_was_heard_and_what_was_answered() -> None:
    folder = folder_of(two_turns())
    said, answered = contents(folder, "user_audio/000.wav"), contents(folder, "ai_audio/turn_0.wav")
    assert (said.rate, len(said.samples)) == (16_000, 350 * 16)
    assert (answered.rate, len(answered.samples)) == (24_000, 500 * 24)
    assert np.abs(answered.samples).max() > 0
    assert folder.file("user_audio/../meta.json") is None


def test_a_call_says_when_it_was() -> None:
    meta = contents(folder_of(two_turns()), "meta.json")
    assert (meta["session_id"], meta["app_type"]) == ("sess_1", "half_duplex_audio")
    assert meta["created_at"] < meta["ended_at"]
    assert meta["created_at"].endswith("+00:00")
    assert meta["duration_s"] > 1


def test_speech_that_a_stop_cut_off_is_a_turn_without_an_answer() -> None:
    call = PhoneCall()
    call.windows(*[0.9] * 20, of=5)
    call.do(c.CloseSession(reason="client"))
    (turn,) = contents(folder_of(call), "recording.json")["turns"]
    assert turn["output"] == {"text": "", "status": "unanswered"}
    assert turn["input"]["duration_ms"] == 640


def test_two_segments_of_one_chunk_have_each_its_answer() -> None:
    call = PhoneCall()
    call.windows(*[0.9] * 10, *[0.1] * 30, *[0.9] * 20, *[0.1] * 30)
    call.understand("one")
    call.say("First.", 100)
    call.finish()
    call.plays_out()
    call.say("Second.", 100)
    call.finish()
    turns = contents(folder_of(call), "recording.json")["turns"]
    assert [turn["output"]["text"] for turn in turns] == ["First.", "Second."]


def test_a_call_in_writing_names_no_sound_of_the_answer() -> None:
    call = PhoneCall()
    call.do(asked(output_modalities=("text",)))
    call.now_ms += 500
    call.says_something()
    call.say("Written.")
    call.finish()
    folder = folder_of(call)
    (turn,) = contents(folder, "recording.json")["turns"]
    assert turn["output"] == {"text": "Written.", "status": "completed"}
    assert folder.names[-1] == "user_audio/000.wav"


def test_where_the_audio_was_erased_no_sound_is_named() -> None:
    log = written(two_turns(), MemoryLog())
    log.erase(NAME, Scope.AUDIO)
    folder = Folder(log, NAME)
    assert folder.names == ("meta.json", "recording.json")
    assert "audio" not in contents(folder, "recording.json")["turns"][0]["input"]


def test_another_session_is_no_call() -> None:
    talk = Talk()
    with pytest.raises(NotACall, match="duplex"):
        folder_of(talk)
