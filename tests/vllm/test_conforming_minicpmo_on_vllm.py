"""The MiniCPM-o stage with its language model on vLLM: what every stage must do."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from itertools import count
from pathlib import Path

import msgspec
import numpy as np
import pytest

from antiphon.actors.stages.conformance.suite import StageSuite, StageUnderTest
from antiphon.actors.stages.minicpmo.engine import MiniCpmOEngine
from antiphon.actors.stages.minicpmo.options import read_settings
from antiphon.actors.stages.minicpmo.parts import load_parts
from antiphon.actors.stages.minicpmo.thinker import Append, Health, Key, Said, Thinker, ThinkerDied
from antiphon.media.pcm import to_pcm
from tests.vllm.asking import LONG_ENOUGH_S

pytestmark = pytest.mark.vllm
_LENDINGS = count()


class Borrowed:
    """The engine of all tests, for one of them: its keys are its own, and `stop` closes what is left open."""

    def __init__(self, thinker: Thinker) -> None:
        self.facts, self._thinker, self._mine = thinker.facts, thinker, f"borrowed-{next(_LENDINGS)}-"
        self._opened: set[Key] = set()
        self._killed = False

    def kill(self) -> None:
        """As the seam has it of a thinker that dies. The real one is killed elsewhere, once for all tests."""
        self._killed = True

    def _alive(self) -> None:
        if self._killed:
            raise ThinkerDied("killed")

    def open(self, key: Key) -> Future[None]:
        self._alive()
        done = self._thinker.open(self._mine + key)
        self._opened.add(key)
        return done

    def append(self, key: Key, append: Append, said: Said) -> None:
        self._alive()
        self._thinker.append(self._mine + key, append, said)

    def truncate(self, key: Key, context_len: int) -> Future[None]:
        self._alive()
        return self._thinker.truncate(self._mine + key, context_len)

    def close(self, key: Key) -> Future[None]:
        return self._thinker.close(self._mine + key)

    def health(self) -> Health:
        return self._thinker.health()

    def stop(self) -> None:
        for key in self._opened:
            self.close(key).result(LONG_ENOUGH_S)


def made(checkpoint: Path, thinker: Thinker) -> MiniCpmOEngine:
    settings = {"model": str(checkpoint), "max_sessions": 3}
    parts = load_parts(read_settings(settings), lambda told: None)
    parts.thinker.stop()  # the one on torch
    parts = msgspec.structs.replace(parts, thinker=thinker)
    return MiniCpmOEngine(settings, progress=lambda told: None, parts=parts)


class TestMiniCpmOOnVllm(StageSuite):
    @pytest.fixture
    def stage(self, checkpoint: Path, thinker: Thinker) -> Iterator[StageUnderTest]:
        speech = to_pcm(np.random.default_rng(2).normal(0, 0.1, 24_000 * 3).astype(np.float32))
        borrowed = Borrowed(thinker)
        yield StageUnderTest(
            partial(made, checkpoint, borrowed),
            config={"instructions": "Speak.", "engine": {"seed": 4}},
            bad_config={"engine": {"top_k": 0}},
            speech=speech,
            held=lambda engine: len(engine._sessions),  # type: ignore[attr-defined]
            kill=lambda _: borrowed.kill(),
        )
        borrowed.stop()  # an engine that died lets go of nothing
