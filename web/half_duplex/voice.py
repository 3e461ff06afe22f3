"""The answers' sound as the dialect sends it: float32 at 24 kHz, as much in each frame as lies in it."""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.actors.runtime import Published
from antiphon.events.ids import ResponseId
from antiphon.events.units import SAMPLE_RATE
from antiphon.events.vocabulary import AudioSpoken
from antiphon.media.outgoing import Outgoing
from antiphon.projections.half_duplex.frames import AudioChunk
from antiphon.projections.half_duplex.step import BYTES_AS_RATE
from antiphon.web.cutting import Cutter


class HalfDuplexSound:
    """Implements Sound."""

    def __init__(self) -> None:
        self._cutter = Cutter()
        self._outgoing = Outgoing(SAMPLE_RATE, SAMPLE_RATE, "pcm_f32le")

    def fill(self, frame: AudioChunk, published: Published) -> tuple[AudioChunk, int, ResponseId]:
        event = published.stored.event
        assert isinstance(event, AudioSpoken), "no other event has sound in this dialect"
        pcm = self._cutter.next(event, published, BYTES_AS_RATE)
        filled = replace(frame, audio_data=self._outgoing.convert(pcm))
        return filled, self._cutter.until, event.response

    def is_stream(self, frame: AudioChunk) -> bool:
        """Every piece stands for itself."""
        return False

    def hold(self, published: Published) -> None:
        """Audio without a frame is not wanted here."""
