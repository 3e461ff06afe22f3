"""A stepper without a model: every slot says what it heard, one frame later. To measure the rest with."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .stepper import FRAME_SAMPLES, Frame, Prompt, Sampling, Spoken


class EchoStepper:
    """Implements FrameStepper."""

    step_s = 0.0

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._last: dict[int, Frame] = {}
        self._opened: set[int] = set()

    def open(self, slot: int, prompt: Prompt, sampling: Sampling) -> None:
        self._opened.add(slot)

    @property
    def prefilling(self) -> bool:
        return bool(self._opened)

    def step(self, heard: Mapping[int, Frame]) -> tuple[Mapping[int, Spoken], tuple[int, ...]]:
        said = {slot: Spoken(self._last[slot]) for slot in heard}
        self._last.update(heard)
        ready = tuple(sorted(self._opened))
        self._opened.clear()
        self._last.update((slot, np.zeros(FRAME_SAMPLES, np.float32)) for slot in ready)
        return said, ready

    def close(self, slot: int) -> None:
        self._opened.discard(slot)
        self._last.pop(slot, None)
