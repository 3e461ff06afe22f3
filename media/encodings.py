"""How samples are written as bytes on a wire: mono, little-endian, in one of five encodings.

`wav` is a whole file in each piece, so its width is 1: nothing of it can be carried over.

NotSamples      bytes that are no samples of the encoding (floats that are not finite)
"""

from typing import Literal, get_args

import numpy as np

from . import g711
from .pcm import Float32, to_float, to_pcm
from .wav import write_wav

Encoding = Literal["pcm16", "pcm_f32le", "g711_ulaw", "g711_alaw", "wav"]
ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)

WIDTH: dict[Encoding, int] = {"pcm16": 2, "pcm_f32le": 4, "g711_ulaw": 1, "g711_alaw": 1, "wav": 1}
"""Bytes of a sample."""


class NotSamples(ValueError):
    """Bytes that cannot be read as samples."""


def to_samples(raw: bytes, encoding: Encoding) -> Float32:
    """Samples as float32, shape (n,), of whole samples that are not in a file. Raises NotSamples."""
    if encoding == "pcm16":
        return to_float(raw)
    if encoding == "pcm_f32le":
        samples = np.frombuffer(raw, "<f4").astype(np.float32)
        if not np.isfinite(samples).all():
            raise NotSamples("the audio holds values that are no numbers")
        return samples
    if encoding == "wav":
        raise NotSamples("a WAV file is read by media.wav")
    return to_float(g711.decode(raw, encoding).tobytes())


def from_samples(samples: Float32, rate: int, encoding: Encoding) -> bytes:
    """The bytes of samples, shape (n,); louder than full scale is clipped except in floats."""
    if encoding == "pcm16":
        return to_pcm(samples)
    if encoding == "pcm_f32le":
        return samples.astype("<f4").tobytes()
    if encoding == "wav":
        return write_wav(samples, rate)
    return g711.encode(np.frombuffer(to_pcm(samples), "<i2"), encoding)
