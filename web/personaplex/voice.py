"""The answers' sound as it goes to the outbox: 80 ms in each frame."""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.actors.runtime import Published
from antiphon.events.ids import ResponseId
from antiphon.events.units import SAMPLE_RATE
from antiphon.events.vocabulary import AudioSpoken
from antiphon.media.encodings import Encoding
from antiphon.media.outgoing import Outgoing
from antiphon.projections.personaplex.frames import Audio
from antiphon.projections.personaplex.step import CUT_AS_RATE
from antiphon.web.cutting import Cutter


class ContinuousSound:
    """Implements Sound. As PCM, which the outbox encodes (pacing.py)."""

    encoding: Encoding = "pcm16"

    def __init__(self) -> None:
        self._cutter = Cutter()
        self._outgoing = Outgoing(SAMPLE_RATE, SAMPLE_RATE, self.encoding)

    def fill(self, frame: Audio, published: Published) -> tuple[Audio, int, ResponseId]:
        event = published.stored.event
        assert isinstance(event, AudioSpoken), "no other event has sound in this dialect"
        pcm = self._cutter.next(event, published, CUT_AS_RATE)
        return replace(frame, pcm=self._outgoing.convert(pcm)), self._cutter.until, event.response

    def is_stream(self, frame: Audio) -> bool:
        """Every frame of PCM stands for itself; a stream of Opus begins anew with each connection."""
        return False

    def hold(self, published: Published) -> None:
        """All sound has its frames."""


class FloatSound(ContinuousSound):
    """As the samples that are sent."""

    encoding: Encoding = "pcm_f32le"
