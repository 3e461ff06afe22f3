"""What MiniCPM-o starts and in which order, where its language model is on vLLM; no vLLM is started."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from antiphon.actors.stages.contract import EngineRefused
from antiphon.actors.stages.minicpmo.engine import MiniCpmOEngine
from antiphon.actors.stages.minicpmo.options import read_settings
from antiphon.actors.stages.minicpmo.parts import load_parts
from antiphon.actors.stages.vllm_streaming import thinker as module
from antiphon.actors.stages.vllm_streaming.options import Options

pytestmark = pytest.mark.vllm


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Options]:
    """What vLLM is asked for; it is never there."""
    options: list[Options] = []

    def refused(asked: Options, *, characters: Sequence[int], progress: Any) -> None:
        options.append(asked)
        raise EngineRefused("missing_dependency", "there is no vllm")

    monkeypatch.setattr(module, "VllmThinker", refused)
    return options


def test_vllm_is_asked_for_what_the_settings_say_within_what_the_checkpoint_has(
    checkpoint: Path, asked: list[Options]
) -> None:
    settings = {
        "model": str(checkpoint),
        "thinker": "vllm",
        "device": "cpu",
        "max_sessions": 3,
        "context_tokens": 100_000,
        "unit_tokens": 9,
        "append_timeout_s": 7,
        "vllm": {"kv_blocks": 65, "gpu_memory": 0.25},
    }
    with pytest.raises(EngineRefused, match="no vllm"):
        load_parts(read_settings(settings), lambda told: None)
    assert asked == [
        Options(
            model=str(checkpoint),
            device="cpu",
            max_sessions=3,
            context_tokens=8192,
            most_tokens=9,
            append_timeout_s=7,
            kv_blocks=65,
            gpu_memory=0.25,
        )
    ]


def test_what_was_started_before_vllm_was_refused_ends(checkpoint: Path, asked: list[Options]) -> None:
    before = threading.active_count()
    with pytest.raises(EngineRefused, match="no vllm"):
        load_parts(read_settings({"model": str(checkpoint), "thinker": "vllm"}), lambda told: None)
    assert threading.active_count() == before


def test_voices_that_cannot_be_read_are_refused_before_vllm_is_started(
    checkpoint: Path, asked: list[Options], tmp_path: Path
) -> None:
    """Whatever is raised behind its start would leave an engine core that holds the GPU."""
    (tmp_path / "broken.wav").write_bytes(b"RIFF?")
    settings = {"model": str(checkpoint), "thinker": "vllm", "voices": str(tmp_path)}
    with pytest.raises(EngineRefused, match="voices"):
        MiniCpmOEngine(settings, progress=lambda told: None)
    assert not asked
