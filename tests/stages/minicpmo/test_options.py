"""What a client may ask of MiniCPM-o, and what only its operator may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from antiphon.actors.stages.contract import EngineRefused
from antiphon.actors.stages.minicpmo.options import read_config, read_settings
from antiphon.actors.stages.minicpmo.segments import read, remembered
from antiphon.actors.stages.minicpmo.shapes import read_shape
from antiphon.actors.stages.minicpmo.vocoder import load_vocoder
from tests.stages.minicpmo.making import SPECIALS


def test_a_client_chooses_how_is_drawn():
    options = read_config({"temperature": 0.5, "instructions": "Hi", "voice": None, "engine": {"top_k": 5}})
    assert (options.sampling.temperature, options.sampling.top_k) == (0.5, 5)
    assert (options.instructions, options.voice) == ("Hi", "")


@pytest.mark.parametrize(
    "asked",
    [
        {"window": "off"},
        {"max_sessions": 9},
        {"vocoder": "/etc"},
        {"top_k": 0},
        {"temperature": 9},
    ],
)
def test_a_client_chooses_nothing_else(asked: dict[str, Any]):
    with pytest.raises(EngineRefused) as refused:
        read_config({"engine": asked})
    assert refused.value.code == "invalid_session_config"


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"model": "m", "windows": 1},
        {"model": "m", "window_high": 5, "window_low": 6},
        {"model": "m", "unit_tokens": 1},
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any]):
    with pytest.raises(EngineRefused) as refused:
        read_settings(settings)
    assert refused.value.code == "bad_settings"


def test_a_folder_that_is_no_model_is_named(tmp_path: Path):
    with pytest.raises(EngineRefused, match=r"config\.json") as refused:
        read_shape(tmp_path)
    assert refused.value.code == "bad_model"
    (tmp_path / "config.json").write_text('{"model_type": "qwen3"}')
    with pytest.raises(EngineRefused, match="qwen3"):
        read_shape(tmp_path)


def test_what_was_said_before_a_stage_was_lost_is_remembered_as_the_model_would_have_said_it():
    assert remembered(SPECIALS, (), ended=False) == (SPECIALS.listen,)
    assert remembered(SPECIALS, (5, 6), ended=False) == (SPECIALS.speak, 5, 6, SPECIALS.chunk_eos)
    ended = (SPECIALS.speak, 5, SPECIALS.turn_eos, SPECIALS.chunk_eos)
    assert remembered(SPECIALS, (5,), ended=True) == ended
    assert read(SPECIALS, ended).turn_ended


def test_where_a_vocoder_is_asked_for_the_stand_in_is_never_taken():
    with pytest.raises(EngineRefused) as refused:
        load_vocoder("/models/token2wav")
    assert refused.value.code == "not_installed"
