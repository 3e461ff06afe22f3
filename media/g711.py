"""G.711: the two companded encodings of the telephone, one byte a sample, as tables.

The segments and the rounding are those of the ITU's recommendation as everybody's code has them (linear
values of 14 bits for mu-law, 13 for A-law): encoding what was decoded gives the same bytes, but for mu-law's
second zero.
"""

from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Law = Literal["g711_ulaw", "g711_alaw"]
Int16 = NDArray[np.int16]

_SEGMENTS = 8


def decode(encoded: bytes, law: Law) -> Int16:
    """Samples, shape (n,), of n bytes."""
    samples: Int16 = _decoded(law)[np.frombuffer(encoded, np.uint8)]
    return samples


def encode(samples: Int16, law: Law) -> bytes:
    """One byte for each sample."""
    encoded: bytes = _encoded(law)[samples.view(np.uint16)].tobytes()
    return encoded


@cache
def _decoded(law: Law) -> Int16:
    """What each byte means."""
    byte = np.arange(256, dtype=np.int32)
    if law == "g711_ulaw":
        inverted = ~byte & 0xFF
        segment = inverted >> 4 & 7
        value = (((inverted & 15) << 3) + 0x84 << segment) - 0x84
        return np.where(inverted & 0x80, -value, value).astype(np.int16)
    flipped = byte ^ 0x55
    segment = flipped >> 4 & 7
    value = (flipped & 15) << 4
    value = np.where(segment == 0, value + 8, value + 0x108 << np.maximum(segment - 1, 0))
    return np.where(flipped & 0x80, value, -value).astype(np.int16)


@cache
def _encoded(law: Law) -> NDArray[np.uint8]:
    """The byte of each sample, by its two's complement."""
    sample = np.arange(1 << 16, dtype=np.uint16).view(np.int16).astype(np.int32)
    encoded: NDArray[np.uint8] = (_ulaw(sample) if law == "g711_ulaw" else _alaw(sample)).astype(np.uint8)
    return encoded


def _ulaw(sample: NDArray[np.int32]) -> NDArray[np.intp]:
    value = np.minimum(np.abs(sample >> 2), 8158) + 33
    segment = np.searchsorted((0x40 << np.arange(_SEGMENTS)) - 1, value)
    encoded: NDArray[np.intp] = (segment << 4 | value >> segment + 1 & 15) ^ np.where(sample < 0, 0x7F, 0xFF)
    return encoded


def _alaw(sample: NDArray[np.int32]) -> NDArray[np.intp]:
    value = sample >> 3
    value = np.where(value < 0, -value - 1, value)
    segment = np.searchsorted((0x20 << np.arange(_SEGMENTS)) - 1, value)
    mantissa = value >> np.maximum(segment, 1) & 15
    encoded: NDArray[np.intp] = (segment << 4 | mantissa) ^ np.where(sample < 0, 0x55, 0xD5)
    return encoded
