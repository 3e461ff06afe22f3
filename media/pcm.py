"""PCM: signed 16-bit little-endian bytes on the outside, float32 in [-1, 1] on the inside.

Bytes arrive in pieces cut anywhere, also in the middle of a sample; `Carry` keeps the odd byte back until
its other half is there. A float outside [-1, 1] is clipped: wrapping around would turn a loud sample into a
click.
"""

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


def silence(samples: int) -> bytes:
    return bytes(samples * BYTES_PER_SAMPLE)


class Carry:
    """Makes whole samples of pieces cut anywhere: what is fed comes out in order, the odd byte later."""

    __slots__ = ("_odd",)

    def __init__(self) -> None:
        self._odd = b""

    def feed(self, piece: bytes) -> bytes:
        """All whole samples so far. An empty piece changes nothing."""
        joined = self._odd + piece
        whole = len(joined) - len(joined) % BYTES_PER_SAMPLE
        self._odd = joined[whole:]
        return joined[:whole]

    @property
    def pending(self) -> int:
        """Bytes kept back: 0 or 1."""
        return len(self._odd)
