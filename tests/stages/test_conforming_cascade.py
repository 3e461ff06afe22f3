"""The engines that ship models keep the stage contract too (actors/stages/conformance)."""

from __future__ import annotations

import pytest

from antiphon.actors.stages.conformance.suite import StageSuite, StageUnderTest
from bench.questions import questions

pytestmark = pytest.mark.cascade
for needed in ("moonshine_voice", "hibari", "xllamacpp", "onnxruntime"):
    pytest.importorskip(needed)

from antiphon.actors.stages.cascade.engine import CascadeEngine  # noqa: E402  # after importorskip
from antiphon.actors.stages.vad.engine import VadEngine  # noqa: E402


def spoken() -> bytes:
    return questions()[0].pcm()


class TestVad(StageSuite):
    @pytest.fixture
    def stage(self) -> StageUnderTest:
        return StageUnderTest(
            lambda: VadEngine({}),
            speech=spoken(),
            held=lambda engine: len(engine._sessions),  # type: ignore[attr-defined]
        )


class TestCascade(StageSuite):
    @pytest.fixture
    def stage(self) -> StageUnderTest:
        return StageUnderTest(
            lambda: CascadeEngine({}),
            question="What is the capital of France?",
            speech=spoken(),
            held=lambda engine: len(engine._answering._speaking),  # type: ignore[attr-defined]
            patience_s=60,
        )
