"""Sample rates: the same sound with more or fewer samples per second.

`Resampler` takes a stream piece by piece and gives the very samples that resampling the whole at once
gives: output sample k is the sound at k / rate_out, with no shift. It holds a few samples back until it has
heard what follows them; how many depends on the quality (24 to 16 kHz: up to 40 ms for `high`, about 6 ms
for `low`, 20 ms at the very beginning).
"""

from typing import Literal

import numpy as np
import soxr

from .pcm import Float32

Quality = Literal["high", "low"]

_SOXR_QUALITY = {"high": "HQ", "low": "LQ"}


class Resampler:
    """A stream on its way from one sample rate to another. One per stream: it remembers."""

    def __init__(self, rate_in: int, rate_out: int, *, quality: Quality = "high") -> None:
        self._stream = soxr.ResampleStream(
            rate_in, rate_out, 1, dtype="float32", quality=_SOXR_QUALITY[quality]
        )
        self._finished = False

    def feed(self, samples: Float32) -> Float32:
        """What can be said of the output by now, shape (m,), m >= 0."""
        return self._resample(samples, last=False)

    def finish(self) -> Float32:
        """The samples held back. The stream is over: feeding it again raises RuntimeError."""
        rest = self._resample(np.zeros(0, np.float32), last=True)
        self._finished = True
        return rest

    def _resample(self, samples: Float32, *, last: bool) -> Float32:
        if self._finished:
            raise RuntimeError("the resampler was finished")
        resampled: Float32 = self._stream.resample_chunk(samples, last=last)
        return resampled


def resample(samples: Float32, rate_in: int, rate_out: int) -> Float32:
    """The whole sound at another rate, shape (m,). The same rate returns `samples` itself."""
    if rate_in == rate_out:
        return samples
    resampled: Float32 = soxr.resample(samples, rate_in, rate_out, quality="HQ")
    return resampled
