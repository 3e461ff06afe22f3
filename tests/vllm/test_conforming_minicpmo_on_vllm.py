"""The MiniCPM-o stage with its language model on vLLM: what every stage must do."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from itertools import count
from pathlib import Path

import msgspec
import numpy as np
import pytest

from antiphon.actors.stages.conformance.suite import StageSuite, StageUnderTest
from antiphon.actors.stages.minicpmo.engine import MiniCpmOEngine
from antiphon.actors.stages.minicpmo.options import read_settings
from antiphon.actors.stages.minicpmo.parts import load_parts
from antiphon.actors.stages.minicpmo.thinker import Append, Health, Key, Said, Thinker
from antiphon.media.pcm import to_pcm
from tests.vllm.asking import LONG_ENOUGH_S

pytestmark = pytest.mark.vllm
_LENDINGS = count()


class Borrowed:
    """The engine of all tests, for one of them: its keys are its own, and `stop` closes what is left open."""

    def __init__(self, thinker: Thinker) -> None:
        self.facts, self._thinker, self._mine = thinker.facts, thinker, f"borrowed-{next(_LENDINGS)}-"
        self._opened: set[Key] = set()

    def open(self, key: Key) -> Future[None]:
        done = self._thinker.open(self._mine + key)
        self._opened.add(key)
        return done

    def append(self, key: Key, append: Append, said: Said) -> None:
        self._thinker.append(self._mine + key, append, said)

    def truncate(self, key: Key, context_len: int) -> Future[None]:
        return self._thinker.truncate(self._mine + key, context_len)

    def close(self, key: Key) -> Future[None]:
        return self._thinker.close(self._mine + key)

    def health(self) -> Health:
        return self._thinker.health()

    def stop(self) -> None:
        for key in self._opened:
            self.close(key).result(LONG_ENOUGH_S)


def made(checkpoint: Path, thinker: Thinker) -> Callable[[], MiniCpmOEngine]:
    settings = {"model": str(checkpoint), "max_sessions": 3}

    def engine() -> MiniCpmOEngine:
        parts = load_parts(read_settings(settings), lambda told: None)
        parts.thinker.stop()  # the one on torch
        parts = msgspec.structs.replace(parts, thinker=Borrowed(thinker))
        return MiniCpmOEngine(settings, progress=lambda told: None, parts=parts)

    return engine


class TestMiniCpmOOnVllm(StageSuite):
    @pytest.fixture
    def stage(self, checkpoint: Path, thinker: Thinker) -> StageUnderTest:
        speech = to_pcm(np.random.default_rng(2).normal(0, 0.1, 24_000 * 3).astype(np.float32))
        return StageUnderTest(
            made(checkpoint, thinker),
            config={"instructions": "Speak.", "engine": {"seed": 4}},
            bad_config={"engine": {"top_k": 0}},
            speech=speech,
            held=lambda engine: len(engine._sessions),  # type: ignore[attr-defined]
        )
