"""The stage around a tiny model: what it does when somebody cuts in, and when the model hangs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from antiphon.actors.stages.contract import (
    ENGINE_DEAD,
    Body,
    Consumed,
    EngineDied,
    Failed,
    Finished,
    Listen,
    PastUnit,
    Said,
    TurnEnded,
)
from antiphon.events.ids import Fence, Operation, SessionId
from antiphon.media.pcm import to_pcm

pytestmark = pytest.mark.minicpmo
for needed in ("torch", "tokenizers", "safetensors"):
    pytest.importorskip(needed)

from antiphon.actors.stages.minicpmo.engine import MiniCpmOEngine  # noqa: E402  # after importorskip
from antiphon.actors.stages.minicpmo.tiny import make_tiny  # noqa: E402

PATIENCE_S = 60.0
SESSION = SessionId("s")
SECOND = to_pcm(np.random.default_rng(2).normal(0, 0.1, 24_000).astype(np.float32))
GREEDY = {"engine": {"seed": 4, "temperature": 0.0}}


class Talk:
    """One session at an engine of its own."""

    def __init__(self, tiny: Path, config: dict[str, Any], **settings: Any) -> None:
        self.engine = MiniCpmOEngine({"model": str(tiny), **settings}, progress=lambda told: None)
        self.said: dict[int, list[Body]] = {}
        self.epoch = 0
        self._ended = threading.Condition()
        self._last: set[int] = set()
        self._operations = 0
        self.engine.start(self._emit)
        pending = self.engine.open(self.fence, config)
        assert pending is not None
        pending.result(PATIENCE_S)

    @property
    def fence(self) -> Fence:
        return Fence(SESSION, 1, self.epoch, self.epoch)

    def _emit(self, fence: Fence, operation: Operation, body: Body, *, last: bool = False) -> None:
        with self._ended:
            self.said.setdefault(operation, []).append(body)
            if last:
                self._last.add(operation)
            self._ended.notify_all()

    def begin(self, *, force_listen: bool = False) -> int:
        self._operations += 1
        operation = Operation(self._operations)
        self.engine.listen(
            Listen(self.fence, operation, 24_000 * operation, SECOND, force_listen=force_listen)
        )
        return operation

    def until(self, operation: int, kind: type[Body]) -> None:
        with self._ended:
            found = self._ended.wait_for(
                lambda: any(isinstance(body, kind) for body in self.said.get(operation, [])), PATIENCE_S
            )
            assert found, (kind, self.said.get(operation))

    def ended(self, operation: int) -> list[Body]:
        with self._ended:
            assert self._ended.wait_for(lambda: operation in self._last, PATIENCE_S)
            return self.said[operation]

    def unit(self, **how: Any) -> list[Body]:
        return self.ended(self.begin(**how))

    def cancel(self) -> None:
        before = self.fence
        self.epoch += 1
        self.engine.cancel(before, self.fence)

    @property
    def context(self) -> int:
        return self.engine._parts.thinker.health().kv_tokens


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    make_tiny(folder, seed=1)
    return folder


@pytest.fixture
def talks(tiny: Path) -> Iterator[Any]:
    made: list[Talk] = []

    def make(config: dict[str, Any] = GREEDY, **settings: Any) -> Talk:
        made.append(Talk(tiny, config, **settings))
        return made[-1]

    yield make
    for talk in made:
        talk.engine.stop()


def text(bodies: list[Body]) -> str:
    return "".join(body.text for body in bodies if isinstance(body, Said))


def sound(bodies: list[Body]) -> int:
    return sum(len(body.pcm) // 2 for body in bodies if isinstance(body, Said))


def in_whole_seconds(bodies: list[Body]) -> bool:
    """A second, or up to four where the turn ends."""
    ends = any(isinstance(body, TurnEnded) for body in bodies)
    return sound(bodies) == 24_000 or (ends and 0 < sound(bodies) <= 4 * 24_000)


def test_over_a_barge_in_the_context_survives_and_nothing_more_is_said(talks: Any):
    talk = talks()
    first = talk.unit()
    assert text(first)
    void = talk.begin()
    talk.cancel()
    following = talk.unit(force_listen=True)
    assert isinstance(following[-1], Consumed)
    assert sound(talk.said.get(void, [])) == 0
    assert talk.context > 3 * 13, "the three seconds stand in it, the void one too"
    assert talk.engine._parts.thinker.health().sessions == 1


def test_where_it_must_listen_in_the_middle_of_its_turn_the_next_turn_has_a_sound_of_its_own(talks: Any):
    talk = talks()
    assert sound(talk.unit())
    assert isinstance(talk.unit(force_listen=True)[-1], Consumed)
    assert in_whole_seconds(talk.unit())


def test_without_sound_there_are_words_alone(talks: Any):
    spoken = [talk.unit() for talk in (talks(), talks({**GREEDY, "modalities": ["text"]}))]
    assert text(spoken[0]) == text(spoken[1])
    assert in_whole_seconds(spoken[0])
    assert sound(spoken[1]) == 0


def test_a_model_that_hangs_is_found_out_and_its_process_ends(talks: Any):
    talk = talks(append_timeout_s=1.0)
    released = threading.Event()
    steps = talk.engine._parts.thinker._steps
    step = steps.step

    def hang(added: Any) -> Any:
        released.wait()
        return step(added)

    steps.step = hang
    try:
        (failed,) = talk.unit()
        assert isinstance(failed, Failed)
        assert failed.code == ENGINE_DEAD
        assert "not answered" in failed.message
    finally:
        released.set()


def test_a_model_that_hangs_while_a_session_ends_is_found_out(talks: Any):
    """Else its place would be gone without a word."""
    talk = talks(append_timeout_s=1.0)
    talk.unit()
    hangs, released = threading.Event(), threading.Event()

    def hang() -> None:
        hangs.set()
        released.wait()

    talk.engine._parts.thinker._let_go = hang
    try:
        closed = talk.engine.close(talk.fence)
        assert hangs.wait(PATIENCE_S)
        with pytest.raises(EngineDied, match="not answered"):
            closed.result(PATIENCE_S)
        with pytest.raises(EngineDied):
            talk.engine.open(talk.fence, GREEDY)
    finally:
        released.set()


def test_a_window_gives_the_context_anew_and_the_session_goes_on(talks: Any):
    talk = talks(context_tokens=256, window="basic", window_high=150, window_low=80)
    contexts = []
    for _ in range(14):
        ended = talk.unit()
        assert isinstance(ended[-1], Said | Consumed | Finished)
        contexts.append(talk.context)
    assert max(contexts) < 256
    assert any(later < earlier for earlier, later in pairwise(contexts))


def test_a_stage_that_knows_what_was_said_has_it_in_its_context(talks: Any):
    past = [PastUnit(SECOND), PastUnit(SECOND, "abc"), PastUnit(SECOND, "d", turn_ended=True)]
    talk = talks({**GREEDY, "past_units": past})
    assert talk.context == 0
    talk.unit(force_listen=True)
    fresh = talks()
    fresh.unit(force_listen=True)
    spoken = (1 + 0, 1 + 3 + 1, 1 + 1 + 2)  # <|listen|>; <|speak|>, words, <|chunk_eos|>; with <|turn_eos|>
    assert talk.context - fresh.context == sum(12 + count for count in spoken)
