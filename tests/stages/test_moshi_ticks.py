"""The clock of the moshi stage: who is late is not waited for, and prompts are given in between."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from antiphon.actors.stages.conformance.suite import StageSuite, StageUnderTest
from antiphon.actors.stages.contract import EngineDied, EngineRefused, Listen
from antiphon.actors.stages.moshi.echo_stepper import EchoStepper
from antiphon.actors.stages.moshi.engine import MoshiEngine
from antiphon.actors.stages.moshi.stepper import FRAME_SAMPLES, Frame, Prompt, Sampling, Spoken
from antiphon.actors.stages.moshi.ticks import FRAME_S, Heard, Ticks, ticks_in_a_frame
from antiphon.events.ids import Operation
from tests.actors.desk_bench import fence


class Noting(EchoStepper):
    """Notes who was stepped together; its prompts have `rows` frames, and a step takes as long as it says."""

    def __init__(self, slots: int, clock: Clock, step_s: float) -> None:
        super().__init__(slots)
        self.steps: list[tuple[float, set[int]]] = []
        self.prompted: list[float] = []
        self._clock, self.step_s = clock, step_s
        self.takes, self.rows = step_s, 1
        self._left: dict[int, int] = {}

    def open(self, slot: int, prompt: Prompt, sampling: Sampling) -> None:
        self._left[slot] = self.rows

    @property
    def prefilling(self) -> bool:
        return bool(self._left)

    def step(self, heard: Mapping[int, Frame]) -> tuple[Mapping[int, Spoken], tuple[int, ...]]:
        (self.steps if heard else self.prompted).append(
            (self._clock.now, set(heard)) if heard else self._clock.now  # type: ignore[arg-type]
        )
        self._clock.now += self.takes
        for slot in tuple(self._left):
            self._left[slot] -= 1
            if not self._left[slot]:
                del self._left[slot]
                super().open(slot, Prompt(), Sampling())
        return super().step(heard)


class Clock:
    """Stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """The ticks without their thread: a test has it take its turns."""

    def __init__(self, step_s: float = FRAME_S / 2) -> None:
        self.clock = Clock()
        self.stepper = Noting(4, self.clock, step_s)
        self.ready: list[int] = []
        self.said: list[tuple[int, float, int]] = []
        self.ticks = Ticks(self.stepper, self.ready.append, lambda problem: None, self.clock)

    def open(self, *slots: int) -> None:
        for slot in slots:
            self.stepper.open(slot, Prompt(), Sampling())
        while self.stepper.prefilling:
            self.ticks.turn()
        self.clock.now += 10 * FRAME_S

    def hear(self, slot: int, value: float = 0.5) -> None:
        sound = np.full(FRAME_SAMPLES, value, np.float32)

        def said(spoken: Spoken, waited_us: int, stepped_us: int) -> None:
            assert spoken.sound is not None
            self.said.append((slot, float(spoken.sound[0]), waited_us))

        self.ticks.hear(Heard(slot, sound, said, self.clock.now))

    def tick(self, late: float = 0.0) -> None:
        self.clock.now = max(self.clock.now, self.ticks.due) + late
        self.ticks.turn()


def test_frames_that_came_are_stepped_together_and_nobody_waits_for_the_others() -> None:
    bench = Bench()
    bench.open(0, 1, 2)
    bench.hear(0)
    bench.hear(2)
    bench.tick()
    assert [slots for _, slots in bench.stepper.steps] == [{0, 2}]


def test_of_two_frames_of_a_slot_the_second_waits_for_the_next_tick() -> None:
    bench = Bench()
    bench.open(0, 1)
    bench.hear(0, 0.25)
    bench.hear(0, 0.75)
    bench.hear(1)
    bench.tick()
    bench.tick()
    bench.hear(0)
    bench.tick()
    assert [slots for _, slots in bench.stepper.steps] == [{0, 1}, {0}, {0}]
    assert [sound for slot, sound, _ in bench.said if slot == 0] == [0.0, 0.25, 0.75]


def test_ticks_do_not_drift_and_late_ones_are_made_up_for() -> None:
    bench = Bench()
    bench.open(0)
    for takes in (*[FRAME_S / 2] * 6, 3 * FRAME_S, *[FRAME_S / 4] * 4):
        bench.stepper.takes = takes
        bench.hear(0)
        bench.tick()
    gaps = np.diff([moment for moment, _ in bench.stepper.steps]) / FRAME_S
    assert gaps == pytest.approx([1, 1, 1, 1, 1, 1, 3, 0.25, 0.25, 0.5])


def test_ticks_at_which_nobody_came_are_not_made_up_for() -> None:
    bench = Bench()
    bench.open(0, 1)
    bench.hear(0)
    bench.tick()
    bench.clock.now += 60.01
    bench.hear(0)
    bench.tick()
    bench.hear(0)
    bench.hear(1)
    bench.tick()
    gaps = np.diff([moment for moment, _ in bench.stepper.steps]) / FRAME_S
    assert gaps == pytest.approx([751, 1], abs=1e-6)


def test_there_are_as_many_ticks_as_steps_fit_and_everybody_keeps_to_his_own() -> None:
    assert [ticks_in_a_frame(ms / 1000) for ms in (0, 1, 10, 31.5, 40, 52, 200)] == [16, 16, 6, 1, 1, 1, 1]
    bench = Bench(step_s=FRAME_S / 5)
    assert bench.ticks.period_s == pytest.approx(FRAME_S / 4)
    bench.open(0, 1)
    bench.hear(0)
    bench.tick()
    began = bench.stepper.steps.pop()[0] + FRAME_S
    for number in range(5):
        bench.clock.now = began + (number - 0.1) * FRAME_S
        bench.hear(0)
        bench.tick()
        bench.clock.now = began + (number + 0.6) * FRAME_S
        bench.hear(1)
        bench.tick()
    moments = {slot: [at for at, slots in bench.stepper.steps if slot in slots] for slot in (0, 1)}
    assert [np.diff(at) == pytest.approx(FRAME_S) for at in moments.values()] == [True, True]
    assert {round(waited / 1000) for slot, _, waited in bench.said if slot == 1} == {round(FRAME_S * 150)}


def test_a_prompt_goes_along_with_every_step_and_makes_no_tick_late() -> None:
    bench = Bench()
    bench.open(0)
    bench.stepper.rows, bench.stepper.takes = 6, FRAME_S * 0.3
    bench.stepper.step_s = FRAME_S * 0.3
    bench.stepper.open(1, Prompt(persona="kind"), Sampling())
    for _ in range(3):
        bench.hear(0)
        for _ in range(3):
            bench.ticks.turn()
        bench.tick()
    gaps = np.diff([moment for moment, _ in bench.stepper.steps])
    assert gaps == pytest.approx(FRAME_S)
    assert bench.ready == [0, 1]
    assert len(bench.stepper.prompted) > 1


def test_what_a_closed_slot_was_to_hear_is_not_stepped() -> None:
    bench = Bench()
    bench.open(0, 1)
    bench.hear(0)
    bench.hear(1)
    bench.ticks.forget(0)
    bench.tick()
    assert [slots for _, slots in bench.stepper.steps] == [{1}]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "--weights"),
        ({"weights": "there", "random_weights": True}, "--weights"),
        ({"size": "echo", "batch_size": 0}, "batch_size"),
        ({"size": "huge"}, "size"),
        ({"size": "nano", "weights": "there"}, "random weights only"),
    ],
)
def test_settings_that_say_nothing_good_are_refused(settings: dict[str, object], told: str) -> None:
    with pytest.raises(EngineRefused, match=told):
        MoshiEngine(settings, progress=print)


@pytest.mark.parametrize(
    "sampling",
    [{"audio_topk": 251}, {"text_topk": 0}, {"text_temperature": -0.1}, {"audio_temperature": 2.5}],
)
def test_sampling_that_cannot_be_is_refused_and_takes_no_slot(sampling: dict[str, float]) -> None:
    engine = MoshiEngine({"size": "echo"}, progress=print)
    for _ in range(2):
        with pytest.raises(EngineRefused) as refused:
            engine.open(fence(), {"sampling": sampling})
        assert refused.value.code == "invalid_session_config"


def test_a_stepper_that_dies_while_nobody_is_heard_is_told_to_the_next_who_speaks() -> None:
    engine = MoshiEngine({"size": "echo"}, progress=print, stepper=Dying(1))
    engine.start(lambda *told, **more: None)
    opened = engine.open(fence(), {})
    assert opened is not None
    with pytest.raises(EngineDied):
        opened.result(10)
    with pytest.raises(EngineDied, match="out of memory"):
        engine.listen(Listen(fence(), Operation(1), 0, bytes(2 * FRAME_SAMPLES)))
    engine.stop()


class Dying(EchoStepper):
    def open(self, slot: int, prompt: Prompt, sampling: Sampling) -> None:
        raise MemoryError("out of memory")


class TestWithoutAModel(StageSuite):
    @pytest.fixture
    def stage(self) -> StageUnderTest:
        return StageUnderTest(
            lambda: MoshiEngine({"size": "echo", "batch_size": 4}, progress=lambda told: None),
            bad_config={"sampling": {"audio_topk": "many"}},
            held=lambda engine: len(engine._held),  # type: ignore[attr-defined]
        )
