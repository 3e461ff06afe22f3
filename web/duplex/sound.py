"""The client's audio on its way to the session's clock: mono pcm16 at 24 kHz.

From its first sample after a commit, a clear or another configuration until the next of these, audio is one
stream: of one format, and resampled as one. Bytes that are no whole sample wait for the rest, as in the plain
dialect. Resampling holds up to 20 ms back (40 ms at telephone rate) until it has heard what follows; a commit
brings it out.
"""

from __future__ import annotations

import numpy as np

from antiphon.events.units import SAMPLE_RATE
from antiphon.media.encodings import WIDTH, Encoding, NotSamples, to_samples
from antiphon.media.pcm import Float32, to_pcm
from antiphon.media.resample import Resampler
from antiphon.media.wav import WavError, read_wav
from antiphon.projections.duplex.formats import Format
from antiphon.web.realtime.undecodable import Undecodable

FULL_SCALE = 32768
SILENCE_RMS = 0.003
"""Of full scale: softer audio counts as silence where nobody says what it is."""


class InputSound:
    """One connection's. `take` may be called in another thread, but never twice at a time."""

    def __init__(self) -> None:
        self._format: Format | None = None
        self._rest = b""
        self._resampler: Resampler | None = None

    def take(self, raw: bytes, format_: Format, client_event: str | None) -> bytes:
        """What can be said by now of the audio so far. Raises Undecodable; then nothing was taken."""
        if format_.encoding == "wav":
            samples, format_ = _file(raw, client_event)
        self._check(format_, client_event)
        if format_.encoding != "wav":
            joined = self._rest + raw if self._rest else raw
            whole = len(joined) - len(joined) % WIDTH[_encoding(format_)]
            if format_ == Format("pcm16", SAMPLE_RATE):
                self._format, self._rest = format_, joined[whole:]
                return joined[:whole]
            samples = _samples(joined[:whole], format_, client_event)
            self._rest = joined[whole:]
        if self._format is None:
            self._format = format_
            self._resampler = None if format_.rate == SAMPLE_RATE else _resampler(format_.rate)
        return to_pcm(samples if self._resampler is None else self._resampler.feed(samples))

    def _check(self, format_: Format, client_event: str | None) -> None:
        if self._format is None or self._format == format_:
            return
        raise Undecodable(
            "invalid_value",
            f"audio came as {self._format.encoding} at {self._format.rate} Hz: commit or clear it first",
            "sample_rate_hz" if self._format.encoding == format_.encoding else "format",
            client_event,
        )

    def end(self) -> bytes:
        """What was held back. Half a sample is nothing. The next audio begins anew."""
        resampler = self._resampler
        self.drop()
        return b"" if resampler is None else to_pcm(resampler.finish())

    def drop(self) -> None:
        """Whatever was held back is not wanted."""
        self._format, self._rest, self._resampler = None, b"", None


def _resampler(rate: int) -> Resampler:
    return Resampler(rate, SAMPLE_RATE, quality="low")  # a conversation would rather have it soon


def _encoding(format_: Format) -> Encoding:
    return format_.encoding  # type: ignore[return-value]  # one of INPUT, and those are encodings


def _samples(raw: bytes, format_: Format, client_event: str | None) -> Float32:
    try:
        return to_samples(raw, _encoding(format_))
    except NotSamples as bad:
        raise Undecodable("invalid_audio", str(bad), "audio", client_event) from bad


def _file(raw: bytes, client_event: str | None) -> tuple[Float32, Format]:
    try:
        sound = read_wav(raw)
    except WavError as bad:
        raise Undecodable("invalid_audio", str(bad), "audio", client_event) from bad
    return sound.samples, Format("wav", sound.rate)


def is_loud(pcm: bytes, threshold: float = SILENCE_RMS) -> bool:
    """Whether audio at 24 kHz is as loud as `threshold`, by its root mean square. No audio at all is."""
    samples = np.frombuffer(pcm, "<i2").astype(np.float32)
    return float(samples.dot(samples)) >= len(samples) * (threshold * FULL_SCALE) ** 2
