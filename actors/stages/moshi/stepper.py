"""The seam between the clock and the model: something that steps every conversation by one frame at once.

A frame is 80 ms: 1920 samples of mono float32 at 24 kHz (the Moshi paper's frame rate of 12.5 Hz). A
conversation has a slot. What another slot is given never changes what a slot says: sampling draws from a
generator of the slot's own, and a slot that is not stepped stays exactly as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Protocol

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

FRAME_MS = 80
FRAME_SAMPLES = 1920
Frame = NDArray[np.float32]
"""FRAME_SAMPLES samples in [-1, 1]."""


MOST_CANDIDATES = 250
Temperature = Annotated[float, Meta(ge=0, le=2)]
Candidates = Annotated[int, Meta(ge=1, le=MOST_CANDIDATES)]


class Sampling(Struct, frozen=True, forbid_unknown_fields=True):
    """How the next token is drawn. Temperature 0 takes the likeliest. The defaults are those of Moshi's own
    programs. Without a `seed` one is drawn by whoever opens the session."""

    text_temperature: Temperature = 0.7
    text_topk: Candidates = 25
    audio_temperature: Temperature = 0.8
    audio_topk: Candidates = 250
    seed: int | None = None


class Prompt(Struct, frozen=True):
    """Who speaks: the `voice` by its name and the `persona` in words; "": the model's own."""

    voice: str = ""
    persona: str = ""


class Spoken(Struct, frozen=True):
    """What a slot says in a frame: None while the model's first frames are on their way."""

    sound: Frame | None
    text: str = ""


class FrameStepper(Protocol):
    """Used by one thread only, which may not be the one that made it."""

    slots: int
    step_s: float
    """How long a step takes, whoever is in it, as it was measured when the model was warmed up."""

    def open(self, slot: int, prompt: Prompt, sampling: Sampling) -> None:
        """Begin a conversation in a slot. Its prompt is then given a frame in every step. Raises
        EngineRefused where the prompt cannot be used: the slot is free then."""

    @property
    def prefilling(self) -> bool:
        """Whether there is a prompt that has not all been given."""

    def step(self, heard: Mapping[int, Frame]) -> tuple[Mapping[int, Spoken], tuple[int, ...]]:
        """Give those slots a frame each, which are ready, and every prompt its next one.

        Returns what is said, and the slots that have now been given their prompt and are ready. All other
        slots stay as they are.
        """

    def close(self, slot: int) -> None:
        """The conversation is over. Nothing of it is in the next one."""
