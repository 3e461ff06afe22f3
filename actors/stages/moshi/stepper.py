"""The seam between the clock and the model: something that steps every conversation by one frame at once.

A frame is 80 ms: 1920 samples of mono float32 at 24 kHz (the Moshi paper's frame rate of 12.5 Hz). A
conversation has a slot. What another slot is given never changes what a slot says: sampling draws from a
generator of the slot's own, and a slot that is not stepped stays exactly as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

FRAME_MS = 80
FRAME_SAMPLES = 1920
Frame = NDArray[np.float32]
"""FRAME_SAMPLES samples in [-1, 1]."""


class Sampling(Struct, frozen=True, forbid_unknown_fields=True):
    """How the next token is drawn. Temperature 0 takes the likeliest. The defaults are those of Moshi's own
    programs. Without a `seed` one is drawn by whoever opens the session."""

    text_temperature: float = 0.7
    text_topk: int = 25
    audio_temperature: float = 0.8
    audio_topk: int = 250
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
    voices: tuple[str, ...]
    """Voices that a prompt may name."""
    context_frames: int
    """Frames after which a conversation forgets its beginning; 0: it has none."""

    def open(self, slot: int, prompt: Prompt, sampling: Sampling) -> None:
        """Begin a conversation in a slot; its prompt is then given by `prefill`. Raises EngineRefused where
        the prompt cannot be used: the slot is free then."""

    def prefill(self) -> tuple[int, ...]:
        """Step every slot whose prompt has not all been given, and nobody else; the slots that are now ready.
        Nothing is said meanwhile."""

    @property
    def prefilling(self) -> bool:
        """Whether there are any."""

    def step(self, heard: Mapping[int, Frame]) -> Mapping[int, Spoken]:
        """Give those slots a frame each. Slots that are not named, and those that are prefilled, stay as they
        are."""

    def close(self, slot: int) -> None:
        """The conversation is over. Nothing of it is in the next one."""
