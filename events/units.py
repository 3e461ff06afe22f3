"""Units of measure. Audio time counts samples; wire and people time counts milliseconds."""

from typing import NewType

from msgspec import Struct

Millis = NewType("Millis", int)
Samples = NewType("Samples", int)

SAMPLE_RATE = 24_000
"""Samples per second of every audio payload in a log: mono signed 16-bit little-endian PCM."""

BYTES_PER_SAMPLE = 2

SECOND_NS = 1_000_000_000


def samples_to_ms(samples: int) -> Millis:
    """Whole milliseconds that `samples` fill, rounded down."""
    return Millis(samples * 1000 // SAMPLE_RATE)


def ms_to_samples(ms: int) -> Samples:
    return Samples(ms * SAMPLE_RATE // 1000)


class Moment(Struct, frozen=True, array_like=True, gc=False, order=True):
    """When something happened, read once by the actor and from then on data.

    `mono_ns` orders and measures within one boot of the machine (WriterOpened names the boot); `wall_ns` is
    for people. Within a session neither ever goes back.
    """

    mono_ns: int
    wall_ns: int
