"""The lockstep model itself, on random weights small enough for a CPU: nobody hears his neighbours."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from antiphon.actors.stages.conformance.suite import StageSuite, StageUnderTest
from antiphon.actors.stages.contract import EngineRefused
from antiphon.actors.stages.moshi.engine import MoshiEngine
from antiphon.actors.stages.moshi.stepper import FRAME_SAMPLES, Frame, Prompt, Sampling, Spoken

pytestmark = pytest.mark.moshi
torch = pytest.importorskip("torch")
pytest.importorskip("antiphon.actors.stages.moshi.package")

from antiphon.actors.stages.moshi.draws import Choice, Draws, draw  # noqa: E402  # after importorskip
from antiphon.actors.stages.moshi.lockstep import FREE, Lockstep  # noqa: E402
from antiphon.actors.stages.moshi.model_stepper import ModelStepper  # noqa: E402
from antiphon.actors.stages.moshi.models import load_models, random_models  # noqa: E402
from antiphon.actors.stages.moshi.prompts import PAUSE_FRAMES, Row, rows  # noqa: E402
from antiphon.actors.stages.moshi.words import Letters, Spelling  # noqa: E402

SLOTS, FRAMES = 8, 12
GREEDY = Sampling(text_temperature=0, audio_temperature=0, seed=3)
DRAWN = Sampling(seed=3)
KIND = Prompt(persona="be kind")


@pytest.fixture(scope="module")
def stepper() -> ModelStepper:
    return ModelStepper(random_models("nano"), SLOTS)


def noise(seed: int, frames: int = FRAMES) -> list[Frame]:
    random = np.random.default_rng(seed)
    return [random.normal(0, 0.1, FRAME_SAMPLES).astype(np.float32) for _ in range(frames)]


def begin(stepper: ModelStepper, slot: int, prompt: Prompt = KIND, sampling: Sampling = DRAWN) -> None:
    stepper.open(slot, prompt, sampling)
    while slot not in stepper.step({})[1]:
        pass


def talk(
    stepper: ModelStepper, slot: int, others: Iterable[int] = (), sampling: Sampling = DRAWN
) -> list[Spoken]:
    """What is said to twelve frames, while others say and hear something else."""
    for other in others:
        begin(stepper, other, Prompt(persona=f"number {other}"), Sampling(seed=other))
    begin(stepper, slot, sampling=sampling)
    said = []
    for heard, elsewhere in zip(noise(1), noise(2), strict=True):
        step = {other: elsewhere * other for other in others} | {slot: heard}
        said.append(stepper.step(step)[0][slot])
    for open_slot in (slot, *others):
        stepper.close(open_slot)
    return said


def same(one: list[Spoken], other: list[Spoken]) -> bool:
    """Bit for bit."""
    return all(
        a.text == b.text and np.array_equal(a.sound, b.sound, equal_nan=False)  # type: ignore[arg-type]
        for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("sampling", [GREEDY, DRAWN], ids=["greedy", "drawn"])
def test_what_is_said_is_the_same_alone_in_a_batch_in_any_slot_and_again(
    stepper: ModelStepper, sampling: Sampling
) -> None:
    alone = talk(stepper, 0, sampling=sampling)
    assert same(alone, talk(stepper, 0, sampling=sampling))
    assert same(alone, talk(stepper, 0, others=range(1, SLOTS), sampling=sampling))
    assert same(alone, talk(stepper, 5, others=[0, 1, 7], sampling=sampling))
    assert any(one.sound is not None and np.abs(one.sound).max() > 1e-3 for one in alone)


def test_models_that_are_built_again_say_the_same(stepper: ModelStepper) -> None:
    assert same(talk(stepper, 2), talk(ModelStepper(random_models("nano"), SLOTS), 2))


def test_another_seed_another_persona_and_other_sound_say_something_else(stepper: ModelStepper) -> None:
    usual = talk(stepper, 0)
    assert not same(usual, talk(stepper, 0, sampling=Sampling(seed=4)))
    begin(stepper, 0, Prompt(persona="be rude"))
    assert not same(usual, [stepper.step({0: frame})[0][0] for frame in noise(1)])
    begin(stepper, 0)
    assert not same(usual, [stepper.step({0: frame})[0][0] for frame in noise(9)])
    stepper.close(0)


def test_a_slot_that_is_not_stepped_stays_as_it_is(stepper: ModelStepper) -> None:
    without_pauses = talk(stepper, 3)
    begin(stepper, 3)
    begin(stepper, 4, sampling=Sampling(seed=8))
    said = []
    for heard in noise(1):
        stepper.step({4: heard})
        said.append(stepper.step({3: heard})[0][3])
    assert same(without_pauses, said)
    for slot in (3, 4):
        stepper.close(slot)


def test_prompts_are_given_without_stopping_those_who_talk(stepper: ModelStepper) -> None:
    undisturbed = talk(stepper, 0)
    begin(stepper, 0)
    said = []
    for number, heard in enumerate(noise(1)):
        if number == 3:
            stepper.open(6, Prompt(persona="somebody who comes later"), Sampling(seed=1))
        said.append(stepper.step({0: heard})[0][0])
    assert stepper.prefilling
    stepper.close(6)
    assert not stepper.prefilling
    assert same(undisturbed, said)
    assert same(undisturbed, talk(stepper, 6))  # nothing of the prompt that was cut short is left
    stepper.close(0)


def test_tokens_are_drawn_as_often_as_they_are_probable() -> None:
    logits = torch.tensor([0.0, 1.0, 2.0, 3.0, -1.0])
    choice = Choice(1, torch.device("cpu"))
    choice.put(0, 0.5, 3)
    draws = Draws(7, 20_000)
    drawn = draw(logits.expand(20_000, 5), choice, torch.from_numpy(draws.next()))
    shares = torch.bincount(drawn, minlength=5) / 20_000
    wanted = torch.softmax(torch.tensor([1.0, 2.0, 3.0]) / 0.5, dim=0)
    assert shares[[1, 2, 3]].tolist() == pytest.approx(wanted.tolist(), abs=0.01)
    assert shares[[0, 4]].tolist() == [0, 0]
    choice.put(0, 0.0, 3)
    assert set(draw(logits.expand(50, 5), choice, torch.rand(50)).tolist()) == {3}


def test_a_number_that_rounds_to_one_draws_a_token_that_may_be_drawn() -> None:
    choice = Choice(1, torch.device("cpu"))
    choice.put(0, 1.0, 2)
    assert draw(torch.tensor([[0.0, 5.0, 1.0]]), choice, torch.tensor([1.0])).item() == 2


def test_the_prompt_is_silence_the_persona_and_silence() -> None:
    words = Letters(256)
    given = list(rows(None, "kind", words, card=2048))
    persona = [row.text for row in given[PAUSE_FRAMES:-PAUSE_FRAMES]]
    assert persona == words.tokens("<system> kind <system>")
    assert {row.text for row in (*given[:PAUSE_FRAMES], *given[-PAUSE_FRAMES:])} == {3}
    assert len({(row.agent, row.user) for row in given}) == 1
    assert list(rows(None, "", words, card=2048)) == []


def test_a_voice_is_heard_as_it_was_kept_and_leaves_its_tokens(tmp_path: Path) -> None:
    models = random_models("nano")
    embeddings = torch.randn(3, 1, 1, models.lm.dim)
    ring = torch.arange(17 * 4).reshape(1, 17, 4) % 200
    torch.save({"embeddings": embeddings, "cache": ring}, tmp_path / "NATF0.pt")
    models.voices = {"NATF0": tmp_path / "NATF0.pt"}
    stepper = ModelStepper(models, 2)
    begin(stepper, 0, Prompt(voice="NATF0"))
    voiced = [stepper.step({0: heard})[0][0] for heard in noise(1)]
    begin(stepper, 1, Prompt())
    assert not same(voiced, [stepper.step({1: heard})[0][1] for heard in noise(1)])
    given = list(rows(tmp_path / "NATF0.pt", "", models.words, card=256))
    assert [row.frames for row in given[:3]] == [0, 0, 3]
    assert len(given) == 3 + PAUSE_FRAMES
    with pytest.raises(EngineRefused, match="no voice"):
        stepper.open(0, Prompt(voice="../NATF0"), DRAWN)


def test_a_voice_that_is_no_voice_is_refused_and_nothing_of_it_is_run(tmp_path: Path) -> None:
    (tmp_path / "bad.pt").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(EngineRefused) as refused:
        list(rows(tmp_path / "bad.pt", "", Letters(256), card=256))
    assert refused.value.code == "voice_unreadable"


def test_codes_are_heard_and_said_at_their_delays() -> None:
    """A forced frame comes out whole one frame later, its acoustic codes as they were given a frame behind."""
    models = random_models("nano")
    lockstep = Lockstep(models.lm, 1)
    lockstep.begin(0, GREEDY)
    live, nothing = torch.tensor([True]), torch.full((1, models.lm.dim), float("nan"))
    numbers = torch.zeros(1, lockstep.tokens_each_frame)
    out = []
    for frame in range(4):
        agent = torch.tensor([[10 + frame] + [10 + frame - 1] * 7])
        step = lockstep.step(
            live, torch.zeros(1, 8, dtype=torch.long), torch.tensor([frame]), agent, numbers, nothing
        )
        out.append(tuple(part.tolist() for part in step))
    assert [whole for *_, whole in out] == [[False], [True], [True], [True]]
    assert [codes for _, codes, _ in out[1:]] == [[[10 + frame] * 8] for frame in range(3)]
    assert [text for text, *_ in out[1:]] == [[0], [1], [2]]
    assert FREE not in out[-1][1][0]


def test_characters_are_said_when_they_are_whole() -> None:
    class Bytes:
        def tokens(self, text: str) -> list[int]:
            return list(text.encode())

        def said(self, token: int) -> bytes:
            return bytes([token])

    spelling = Spelling(Bytes())
    assert [spelling.add(token) for token in "né€".encode()] == ["n", "", "é", "", "", "€"]


def test_weights_that_are_not_there_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EngineRefused, match="needs a CUDA device"):
        load_models(str(tmp_path), "moshi", print)
    monkeypatch.setattr("antiphon.actors.stages.moshi.models.device", lambda: torch.device("meta"))
    with pytest.raises(EngineRefused, match=r"no model\.safetensors in"):
        load_models(str(tmp_path), "moshi", print)


def test_a_row_leaves_what_it_does_not_say_to_the_model() -> None:
    assert Row(agent=(FREE,) * 8).text == 3


class TestNano(StageSuite):
    @pytest.fixture
    def stage(self) -> StageUnderTest:
        settings: dict[str, Any] = {"size": "nano", "random_weights": True, "batch_size": 4}
        return StageUnderTest(
            lambda: MoshiEngine(settings, progress=lambda told: None),
            config={"sampling": {"seed": 1}},
            bad_config={"sampling": {"seed": "many"}},
            held=lambda engine: len(engine._held),  # type: ignore[attr-defined]
        )
