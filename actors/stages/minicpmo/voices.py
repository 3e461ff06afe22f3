"""Reference audio: the WAV files of a folder of the operator's. A client's `voice` names one of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from antiphon.actors.stages.contract import EngineRefused
from antiphon.media.resample import resample
from antiphon.media.wav import WavError, read_wav

from .seconds import RATE

MOST_S = 10


def read_voices(folder: str) -> dict[str, tuple[NDArray[np.float32], ...]]:
    """Each voice by its name as seconds of 16 kHz, MOST_S at most. Raises EngineRefused."""
    if not folder:
        return {}
    try:
        files = sorted(Path(folder).glob("*.wav"))
        return {file.stem: _seconds(file) for file in files}
    except (OSError, WavError) as error:
        raise EngineRefused("bad_settings", f"[stage.minicpmo] voices: {error}") from error


def chosen(voices: dict[str, tuple[NDArray[np.float32], ...]], voice: str) -> tuple[NDArray[np.float32], ...]:
    """Of one voice; (): the model's own. Where there are no files a client may name what it likes."""
    if not voices or not voice:
        return ()
    if voice not in voices:
        raise EngineRefused("no_voice", f"no voice {voice!r}; there are {', '.join(voices)}")
    return voices[voice]


def _seconds(file: Path) -> tuple[NDArray[np.float32], ...]:
    sound = read_wav(file.read_bytes())
    samples = resample(sound.samples, sound.rate, RATE)[: MOST_S * RATE]
    count = -(-len(samples) // RATE)
    padded = np.zeros(count * RATE, np.float32)
    padded[: len(samples)] = samples
    return tuple(np.split(padded, count)) if count else ()
