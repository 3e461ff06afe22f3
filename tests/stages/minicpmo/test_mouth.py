"""What stands in the talker's context from chunk to chunk of a turn, with a real talker."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from antiphon.actors.stages.minicpmo.context import Context
from antiphon.actors.stages.minicpmo.handing import Chunk, Words
from antiphon.actors.stages.minicpmo.mouth import Mouth
from antiphon.actors.stages.minicpmo.shapes import CODE_END, named
from antiphon.actors.stages.minicpmo.thinker import Facts
from antiphon.actors.stages.minicpmo.voicing import PENALISED, Voicing, next_append
from antiphon.actors.stages.minicpmo.workers import Worker
from tests.stages.minicpmo.asking import PATIENCE_S, Asked

pytestmark = pytest.mark.minicpmo
torch = pytest.importorskip("torch")

from antiphon.actors.stages.minicpmo.nets import decoder, talker  # noqa: E402  # after importorskip
from antiphon.actors.stages.minicpmo.nets.steps import Steps  # noqa: E402
from antiphon.actors.stages.minicpmo.nets.weights import random  # noqa: E402
from antiphon.actors.stages.minicpmo.torch_thinker import TorchThinker  # noqa: E402

SHAPE = named("tiny").tts_config
LENGTH = 512
WORDS = [Words((1, 2, 3), None), Words((4, 5), None), Words((6,), None)]
WEIGHTS = random(talker.names(SHAPE), torch.device("cpu"), torch.float32, std=0.5, seed=6)


@pytest.fixture
def talking() -> Iterator[TorchThinker]:
    inner = {
        name.removeprefix(talker.DECODER): one
        for name, one in WEIGHTS.items()
        if name.startswith(talker.DECODER)
    }
    made = decoder.Decoder(SHAPE.decoder, inner, qk_norm=False, slots=2, length=LENGTH)
    facts = Facts(
        name="talker",
        max_sessions=2,
        context_tokens=LENGTH,
        kv_tokens=2 * LENGTH,
        hidden=SHAPE.hidden_size,
        vocabulary=SHAPE.num_audio_tokens,
        can_truncate=True,
        gives_hidden=False,
    )
    steps = Steps(made, WEIGHTS[talker.TABLE], talker.head(WEIGHTS))
    thinker = TorchThinker(steps, facts, [0] * SHAPE.num_audio_tokens, lambda told: None)
    yield thinker
    thinker.stop()


class Recorder:
    """A vocoder that keeps what it is given."""

    name = "recorder"

    def __init__(self) -> None:
        self.codes: list[tuple[int, ...]] = []

    def sound(self, session: str, chunk: Chunk, codes: tuple[int, ...]) -> np.ndarray:
        self.codes.append(codes)
        return np.zeros(0, np.float32)

    def forget(self, session: str) -> None:
        pass


class Speaker:
    """A mouth with the threads that it needs."""

    def __init__(self, talking: TorchThinker) -> None:
        self.vocoder, self.conditions = Recorder(), talker.Conditions(SHAPE, WEIGHTS)
        self.mind, self.voice = Worker("mind", self._failed), Worker("voice", self._failed)
        context = Context(talking, "s", self.mind.post)
        self.mouth = Mouth("s", context, LENGTH, self.conditions, self.vocoder, self.voice, self.mind.post)
        self.mouth.seed = 7
        for worker in (self.mind, self.voice):
            worker.start()
        self.mind.post(partial(context.open, lambda error: None))

    def _failed(self, problem: Exception) -> None:
        raise problem

    def say(self, words: Words, *, last: bool = False) -> tuple[int, ...]:
        """The codes of it."""
        sounded = threading.Event()
        self.mind.post(partial(self.mouth.say, words, last=last, sounded=lambda sound: sounded.set()))
        assert sounded.wait(PATIENCE_S)
        return self.vocoder.codes[-1]

    def drop(self) -> None:
        self.mind.post(self.mouth.drop)

    def stop(self) -> None:
        for worker in (self.mind, self.voice):
            worker.stop()


@pytest.fixture
def speaker(talking: TorchThinker) -> Iterator[Speaker]:
    made = Speaker(talking)
    yield made
    made.stop()


def in_one_shot(talking: TorchThinker, speaker: Speaker, before: list[tuple[int, ...]]) -> list[int]:
    """The codes of the chunk behind those, all in a context of its own."""
    conditions = [speaker.conditions.of(words, last=False) for words in WORDS]
    pieces = []
    for condition, codes in zip(conditions, before, strict=False):
        pieces += [condition, (*codes, CODE_END)]
    said = tuple(code for codes in before for code in codes)
    chunk = Voicing(
        condition=conditions[len(before)], last=False, seed=7, recent=said[-PENALISED:], place=len(before)
    )
    append = next_append(chunk)
    assert append is not None
    alone = Asked(talking, f"alone{len(before)}").open()
    tokens, _ = alone.segment(
        *pieces, *append.pieces, max_tokens=append.max_tokens, stop=append.stop, drawing=append.drawing
    )
    alone.close()
    return [token for token in tokens if token != CODE_END]


def test_the_talker_forgets_no_code_between_the_chunks_of_a_turn(talking: TorchThinker, speaker: Speaker):
    """As at the thinker (thinker.py): the last code of a chunk was drawn and not fed, nor was the codec's end."""
    said: list[tuple[int, ...]] = []
    for words in WORDS:
        said.append(speaker.say(words))
        assert list(said[-1]) == in_one_shot(talking, speaker, said[:-1])
    assert [len(codes) for codes in said] == [25, 25, 25]
    held = sum(len(words.tokens) + 1 + 25 + 1 for words in WORDS) - 2
    assert talking.health().kv_tokens == held, "but for the last code and the end behind it"


def test_what_one_turn_left_is_not_carried_into_the_next(talking: TorchThinker, speaker: Speaker):
    speaker.say(WORDS[0])
    speaker.drop()
    speaker.say(WORDS[1])
    assert talking.health().kv_tokens == len(WORDS[1].tokens) + 1 + 24
