"""A sound on its way out, piece by piece, at another sample rate and in another encoding."""

import numpy as np

from .encodings import Encoding, from_samples
from .pcm import to_float
from .resample import Resampler


class Outgoing:
    """One stream of mono pcm16, resampled as one: no click where two pieces meet, and no sample too many.

    Resampling holds up to 20 ms back until it has heard what follows; `finish` brings it out.
    """

    def __init__(self, rate_in: int, rate_out: int, encoding: Encoding) -> None:
        self._rate, self._encoding = rate_out, encoding
        same = rate_in == rate_out
        self._resampler = None if same else Resampler(rate_in, rate_out, quality="low")

    def convert(self, pcm: bytes) -> bytes:
        """What can be said by now; of a WAV encoding, a file of it."""
        if self._encoding == "pcm16" and self._resampler is None:
            return pcm
        samples = to_float(pcm)
        if self._resampler is not None:
            samples = self._resampler.feed(samples)
        return from_samples(samples, self._rate, self._encoding)

    def finish(self) -> bytes:
        """What was held back. The stream is over."""
        rest = np.zeros(0, np.float32) if self._resampler is None else self._resampler.finish()
        return from_samples(rest, self._rate, self._encoding)
