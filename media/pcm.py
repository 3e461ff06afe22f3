"""PCM: signed 16-bit little-endian bytes on the outside, float32 in [-1, 1] on the inside."""

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]

BYTES_PER_SAMPLE = 2
_FULL_SCALE = 32768.0


class OddLength(ValueError):
    """PCM that ends in the middle of a sample where only whole samples make sense."""

    code = "odd_pcm_length"

    def __init__(self, length: int) -> None:
        super().__init__(f"{length} bytes are not a whole number of 16-bit samples")
        self.length = length


def to_float(pcm: bytes | bytearray | memoryview) -> Float32:
    """Samples as float32 in [-1, 1), shape (n,). Raises OddLength."""
    if len(pcm) % BYTES_PER_SAMPLE:
        raise OddLength(len(pcm))
    return np.frombuffer(pcm, dtype="<i2").astype(np.float32) / np.float32(_FULL_SCALE)


def to_pcm(samples: Float32) -> bytes:
    """The nearest 16-bit samples; louder than full scale is clipped. The inverse of `to_float`."""
    scaled = np.rint(np.asarray(samples, dtype=np.float32) * np.float32(_FULL_SCALE))
    pcm: bytes = np.clip(scaled, -_FULL_SCALE, _FULL_SCALE - 1).astype("<i2").tobytes()
    return pcm
