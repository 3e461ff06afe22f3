"""The seam to the vocoder, and the stand-in where there is none.

Token2Wav, which turns codec tokens into MiniCPM-o's voice, is part of neither vLLM nor transformers. A
package that has it offers it as an entry point of the group `antiphon.vocoders`, named `token2wav`: called
with the folder that `vocoder` names, it returns a Vocoder.

`tone_vocoder` is no voice: a steady tone, exactly as long as the codes last. It sounds only where no vocoder
was asked for, and says so.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from antiphon.actors.stages.contract import EngineRefused

from .handing import CODES_PER_CHUNK, Chunk

RATE = 24_000
SAMPLES_PER_CODE = RATE // CODES_PER_CHUNK
GROUP, NAME = "antiphon.vocoders", "token2wav"
TONE = "tone_vocoder"
_HZ, _LOUD = 200, 0.1
"""A period divides a code's samples: chunks of any length join without a step."""


class Vocoder(Protocol):
    """Used by one thread. `name` is told in the log and in the descriptor."""

    name: str

    def sound(self, session: str, chunk: Chunk, codes: tuple[int, ...]) -> NDArray[np.float32]:
        """Mono float32 at 24 kHz, SAMPLES_PER_CODE for each of `codes`, shape (n,).

        Chunks of a session come in order; one with number 0 begins with caches of its own, others go on with
        those of the chunk before (handing.py). `chunk.last`: what is held back must be said now.
        """

    def forget(self, session: str) -> None:
        """The session is over, or was cut off: its caches go."""


class ToneVocoder:
    name = TONE

    def sound(self, session: str, chunk: Chunk, codes: tuple[int, ...]) -> NDArray[np.float32]:
        places = np.arange(len(codes) * SAMPLES_PER_CODE) % (RATE // _HZ)
        tone: NDArray[np.float32] = np.sin(places * (2 * np.pi * _HZ / RATE)).astype(np.float32)
        return tone * np.float32(_LOUD)

    def forget(self, session: str) -> None:
        pass


def load_vocoder(path: str) -> Vocoder:
    """The one in the folder, or the stand-in for "". Raises EngineRefused."""
    if not path:
        return ToneVocoder()
    from importlib.metadata import entry_points

    found = entry_points(group=GROUP, name=NAME)
    if not found:
        told = f"no installed package has a vocoder for {path} (entry point {NAME} of {GROUP})"
        raise EngineRefused("not_installed", told)
    vocoder: Vocoder = next(iter(found)).load()(path)
    return vocoder
