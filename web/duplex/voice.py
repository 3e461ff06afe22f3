"""The answers' audio as the client asked for it: another rate, another encoding, a slice for each frame.

An answer is one stream, resampled as one; the projection has a frame at its end for what that holds back.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec.structs import replace

from antiphon.actors.runtime import Published
from antiphon.events.ids import ResponseId
from antiphon.events.units import SAMPLE_RATE
from antiphon.events.vocabulary import AudioSpoken
from antiphon.media.encodings import Encoding
from antiphon.media.outgoing import Outgoing
from antiphon.web.cutting import Cutter


class DuplexSound:
    """Implements Sound. `member` of a frame is its audio."""

    member: ClassVar[str] = "delta"

    def __init__(self) -> None:
        self._cutter = Cutter()
        self._response = ""
        self._rate = SAMPLE_RATE
        self._stream = Outgoing(SAMPLE_RATE, SAMPLE_RATE, "pcm16")

    def fill(self, frame: Any, published: Published) -> tuple[Any, int, ResponseId]:
        event, response = published.stored.event, ResponseId(frame.response_id)
        if frame.response_id != self._response or frame.sample_rate_hz != self._rate:
            self._begin(frame)
        if not isinstance(event, AudioSpoken):
            return self._filled(frame, self._rest()), self._cutter.until, response
        pcm = self._cutter.next(event, published, self._rate)
        return self._filled(frame, self._stream.convert(pcm)), self._cutter.until, response

    def is_stream(self, frame: Any) -> bool:
        """Resampled it is one."""
        return bool(frame.sample_rate_hz != SAMPLE_RATE)

    def hold(self, published: Published) -> None:
        """Audio without a frame is not wanted here."""

    def _filled(self, frame: Any, audio: bytes) -> Any:
        return replace(frame, **{self.member: audio})

    def _begin(self, frame: Any) -> None:
        self._response, self._rate = frame.response_id, frame.sample_rate_hz
        self._stream = Outgoing(SAMPLE_RATE, self._rate, _encoding(frame))

    def _rest(self) -> bytes:
        rest, self._response = self._stream.finish(), ""
        return rest


def _encoding(frame: Any) -> Encoding:
    format_: Encoding = frame.format  # one of OUTPUT, and those are encodings
    return format_
