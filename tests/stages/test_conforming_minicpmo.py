"""MiniCPM-o keeps the stage contract, with a tiny model made for it (actors/stages/conformance)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from antiphon.actors.stages.conformance.suite import StageSuite, StageUnderTest

pytestmark = pytest.mark.minicpmo
for needed in ("torch", "tokenizers", "safetensors"):
    pytest.importorskip(needed)

from antiphon.actors.stages.minicpmo.engine import MiniCpmOEngine  # noqa: E402  # after importorskip
from antiphon.actors.stages.minicpmo.tiny import make_tiny  # noqa: E402
from antiphon.media.pcm import to_pcm  # noqa: E402


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    make_tiny(folder, seed=1)
    return folder


def spoken() -> bytes:
    return to_pcm(np.random.default_rng(2).normal(0, 0.1, 24_000 * 3).astype(np.float32))


def kill(engine: object) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the device is lost")

    engine._parts.thinker._steps.step = broken  # type: ignore[attr-defined]


class TestMiniCpmO(StageSuite):
    @pytest.fixture
    def stage(self, tiny: Path) -> StageUnderTest:
        return StageUnderTest(
            lambda: MiniCpmOEngine({"model": str(tiny), "max_sessions": 3}, progress=lambda told: None),
            config={"instructions": "Speak.", "engine": {"seed": 4}},
            bad_config={"engine": {"top_k": 0}},
            speech=spoken(),
            held=lambda engine: len(engine._sessions),  # type: ignore[attr-defined]
            kill=kill,
        )
