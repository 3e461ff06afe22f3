"""The clock of the moshi stage: who is late is not waited for, and prompts are given in between."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from antiphon.actors.stages.conformance.suite import StageSuite, StageUnderTest
from antiphon.actors.stages.contract import EngineRefused
from antiphon.actors.stages.moshi.echo_stepper import EchoStepper
from antiphon.actors.stages.moshi.engine import MoshiEngine
from antiphon.actors.stages.moshi.stepper import FRAME_SAMPLES, Frame, Prompt, Sampling, Spoken
from antiphon.actors.stages.moshi.ticks import PERIOD_S, Heard, Ticks


class Noting(EchoStepper):
    """Notes who was stepped together; its prompts have three frames, and a step takes as long as it says."""

    def __init__(self, slots: int, clock: Clock) -> None:
        super().__init__(slots)
        self.steps: list[tuple[float, set[int]]] = []
        self.prefilled: list[float] = []
        self._clock, self._left = clock, 3
        self.takes = 0.0

    def prefill(self) -> tuple[int, ...]:
        self.prefilled.append(self._clock.now)
        self._clock.now += self.takes
        self._left -= 1
        return super().prefill() if not self._left else ()

    def step(self, heard: Mapping[int, Frame]) -> Mapping[int, Spoken]:
        self.steps.append((self._clock.now, set(heard)))
        self._clock.now += self.takes
        return super().step(heard)


class Clock:
    """Stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Bench:
    """The ticks without their thread: a test has it take its turns."""

    def __init__(self, slots: int = 4) -> None:
        self.clock = Clock()
        self.stepper = Noting(slots, self.clock)
        self.ready: list[int] = []
        self.said: list[tuple[int, float, int]] = []
        self.ticks = Ticks(self.stepper, self.ready.append, lambda problem: None, self.clock)

    def open(self, *slots: int) -> None:
        for slot in slots:
            self.stepper.open(slot, Prompt(), Sampling())
        while self.stepper.prefilling:
            self.ticks.turn()

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
    bench.stepper.takes = PERIOD_S / 2
    began = bench.clock.now
    for _ in range(10):
        bench.hear(0)
        bench.tick()
    moments = [moment - began for moment, _ in bench.stepper.steps]
    gaps = np.diff(moments)
    assert gaps == pytest.approx(PERIOD_S)
    for takes in (3 * PERIOD_S, *[PERIOD_S / 4] * 4):
        bench.stepper.takes = takes
        bench.hear(0)
        bench.tick()
    gaps = np.diff([moment for moment, _ in bench.stepper.steps])[-4:] / PERIOD_S
    assert gaps == pytest.approx([3, 0.25, 0.25, 0.5])


def test_ticks_at_which_nobody_came_are_not_made_up_for() -> None:
    bench = Bench()
    bench.open(0, 1)
    bench.hear(0)
    bench.tick()
    bench.clock.now += 60.0
    bench.hear(0)
    bench.tick()
    bench.hear(0)
    bench.hear(1)
    bench.tick()
    assert np.diff([moment for moment, _ in bench.stepper.steps]) == pytest.approx([60.0, PERIOD_S])


def test_a_prompt_is_given_between_ticks_and_makes_no_tick_late() -> None:
    bench = Bench()
    bench.open(0)
    bench.stepper.takes, bench.stepper._left = PERIOD_S * 0.4, 3
    bench.hear(0)
    bench.tick()
    bench.stepper.open(1, Prompt(persona="kind"), Sampling())
    for _ in range(4):
        bench.hear(0)
        while bench.clock.now < bench.ticks.due - 1e-9:
            before = bench.clock.now
            if bench.stepper.prefilling and bench.ticks.has_time(before):
                bench.ticks.turn()
            else:
                bench.clock.now = bench.ticks.due
        bench.ticks.turn()
    assert bench.ready == [0, 1]
    gaps = np.diff([moment for moment, _ in bench.stepper.steps])
    assert gaps == pytest.approx(PERIOD_S)


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


class TestWithoutAModel(StageSuite):
    @pytest.fixture
    def stage(self) -> StageUnderTest:
        return StageUnderTest(
            lambda: MoshiEngine({"size": "echo", "batch_size": 4}, progress=lambda told: None),
            bad_config={"sampling": {"audio_topk": "many"}},
            held=lambda engine: len(engine._held),  # type: ignore[attr-defined]
        )
