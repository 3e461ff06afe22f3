"""The spoken questions that the benchmarks ask and the tests hear, and what may happen to them on the way.

20 recordings with their words: 15 questions synthesised with hibari-tts, and 5 sentences read by people
(LibriVox; statements, as no freely licensed recorded questions were at hand). The manifest names origin and
licence of each. Everything here is deterministic: the same call gives the same samples.
"""

from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from antiphon.media.pcm import Float32, to_pcm
from antiphon.media.resample import resample
from antiphon.media.wav import Sound, read_wav

RATE = 24_000
_FRAME = 480
_FOLDER = Path(__file__).parent / "questions"


class Question(Struct, frozen=True):
    """One recording: `text` is what is said, `origin` who says it."""

    file: str
    text: str
    origin: Literal["synthesised", "human"]
    source: str
    licence: str

    def sound(self) -> Sound:
        """As shipped, at its own rate."""
        return read_wav((_FOLDER / self.file).read_bytes())

    def samples(self) -> Float32:
        """At 24 kHz, as a session hears it."""
        sound = self.sound()
        return resample(sound.samples, sound.rate, RATE)

    def pcm(self) -> bytes:
        return to_pcm(self.samples())


def questions(origin: Literal["synthesised", "human"] | None = None) -> list[Question]:
    """All recordings in the order of the manifest, or those of one origin."""
    manifest = msgspec.json.decode((_FOLDER / "manifest.json").read_bytes(), type=list[Question])
    return [question for question in manifest if origin in (None, question.origin)]


def speech_end(samples: Float32) -> int:
    """The sample at which the speaker stops: latency is counted from here, not from the end of the file."""
    frames = samples[: len(samples) // _FRAME * _FRAME].reshape(-1, _FRAME)
    loud = np.flatnonzero(_spoken(np.mean(np.square(frames, dtype=np.float64), axis=1)))
    return int(loud[-1] + 1) * _FRAME if len(loud) else 0


def with_noise(samples: Float32, *, snr_db: float = 10.0, seed: int = 0) -> Float32:
    """The samples in pink noise `snr_db` below the speech in them; made quieter rather than clipped.

    Pink, because rooms and streets have more power in the low frequencies, as speech has. Pauses and padding
    do not count as speech, so that the noise does not depend on how much of them there is.
    """
    spectrum = np.fft.rfft(np.random.default_rng(seed).normal(size=len(samples)))
    spectrum[1:] /= np.sqrt(np.arange(1, len(spectrum)))
    spectrum[0] = 0
    noise = np.fft.irfft(spectrum, n=len(samples))
    power = _speech_power(samples)
    noise *= np.sqrt(power / 10 ** (snr_db / 10) / np.mean(np.square(noise)))
    mixed = samples + noise
    return np.asarray(mixed / max(1.0, float(np.max(np.abs(mixed)))), np.float32)


def _speech_power(samples: Float32) -> float:
    frames = samples[: len(samples) // _FRAME * _FRAME].reshape(-1, _FRAME)
    powers = np.mean(np.square(frames, dtype=np.float64), axis=1)
    return float(np.mean(powers[_spoken(powers)]))


def _spoken(powers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which frames are not silence: those less than 30 dB below the loudest."""
    return (powers > 0) & (powers >= np.max(powers, initial=0.0) / 1000)


def with_pause(samples: Float32, *, pause_ms: int, rate: int = RATE) -> Float32:
    """Somebody who hesitates: silence is put in where the middle of the sentence is quietest."""
    window = rate // 50
    first, last = int(len(samples) * 0.3), int(len(samples) * 0.7)
    loudness = np.convolve(np.square(samples[first:last]), np.ones(window), mode="valid")
    cut = first + int(np.argmin(loudness)) + window // 2
    pause = np.zeros(pause_ms * rate // 1000, np.float32)
    return np.concatenate([samples[:cut], pause, samples[cut:]])
