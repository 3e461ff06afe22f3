"""Reference audio: the WAV files of a folder of the operator's. A client's `voice` names one of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from antiphon.actors.stages.contract import EngineRefused
from antiphon.media.resample import resample
from antiphon.media.wav import WavError, read_wav

from .parts import Parts
from .seconds import RATE
from .thinker import Embeddings

MOST_S = 10

Recorded = Mapping[str, tuple[NDArray[np.float32], ...]]
"""Each voice's first seconds."""
Voices = Mapping[str, Embeddings | None]
"""Each as the model hears it. None: there is no sound in its file."""


def read_voices(folder: str) -> Recorded:
    """Of each voice the first MOST_S. Raises EngineRefused."""
    if not folder:
        return {}
    try:
        return {file.stem: _seconds(file) for file in sorted(Path(folder).glob("*.wav"))}
    except (OSError, WavError) as error:
        raise EngineRefused("bad_settings", f"[stage.minicpmo] voices: {error}") from error


def embedded(recorded: Recorded, parts: Parts) -> Voices:
    return {name: _embedded(parts, seconds) for name, seconds in recorded.items()}


def chosen(voices: Voices, voice: str) -> Embeddings | None:
    """Of one voice; None: the model's own. Where there are no files a client may name what it likes."""
    if not voices or not voice:
        return None
    if voice not in voices:
        raise EngineRefused("no_voice", f"no voice {voice!r}; there are {', '.join(voices)}")
    return voices[voice]


def _embedded(parts: Parts, seconds: tuple[NDArray[np.float32], ...]) -> Embeddings | None:
    hearing = parts.hearing()
    heard = [parts.ears.hear(hearing, second) for second in seconds]
    return np.concatenate(heard) if heard else None


def _seconds(file: Path) -> tuple[NDArray[np.float32], ...]:
    sound = read_wav(file.read_bytes())
    samples = resample(sound.samples, sound.rate, RATE)[: MOST_S * RATE]
    count = -(-len(samples) // RATE)
    padded = np.zeros(count * RATE, np.float32)
    padded[: len(samples)] = samples
    return tuple(np.split(padded, count)) if count else ()
