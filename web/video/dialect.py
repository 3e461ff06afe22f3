"""Streaming video at the edge. Every message but the smallest is read in a thread: it may hold an image."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from antiphon.actors.runtime import Published, Retrieved
from antiphon.events.ids import ResponseId, SessionId
from antiphon.events.units import SAMPLE_RATE
from antiphon.events.vocabulary import AudioSpoken, ClientResumed, ResponseEnded
from antiphon.media.pcm import to_float
from antiphon.media.wav import write_wav
from antiphon.projections.video import frames as f
from antiphon.projections.video.projection import VideoProjection
from antiphon.web.dialect import Dialect

from .decode import VideoDecoder
from .opening import INVALID, begin

INLINE = 2048
"""Characters of a message that is read at once."""
FATAL = frozenset(
    (
        INVALID,
        "config_timeout",
        "video_unavailable",
        "internal_error",
        "too_many_errors",
        "not_ready",
        "resource_exhausted",
        "stage_failed",
        "session_closed",
    )
)
"""Codes of errors that no event holds, and that end the connection."""


class VideoSound:
    """Each piece of an answer's audio as a WAV file; all of it as one where nothing streams."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._response = ResponseId("")
        self._until = 0

    def hold(self, published: Published) -> None:
        event = published.stored.event
        if not isinstance(event, AudioSpoken):
            return
        if event.response != self._response:
            self._held.clear()
            self._response = event.response
        self._held += published.payload or b""
        self._until = event.until_sample

    def fill(self, frame: f.AudioDelta, published: Published) -> tuple[f.AudioDelta, int, ResponseId]:
        event = published.stored.event
        if isinstance(event, ResponseEnded):
            pcm, self._held = bytes(self._held), bytearray()
            return replace(frame, data=_wav(pcm)), self._until, event.response
        assert isinstance(event, AudioSpoken)
        return replace(frame, data=_wav(published.payload or b"")), event.until_sample, event.response

    def is_stream(self, frame: f.AudioDelta) -> bool:
        return False


def _wav(pcm: bytes) -> bytes:
    return write_wav(to_float(pcm), SAMPLE_RATE)


class VideoReplies:
    def refused(
        self, event_id: str, code: str, message: str, param: str | None, client_event: str | None
    ) -> f.Error:
        named = client_event or UNSET
        return f.Error(message=message, code=code, fatal=code in FATAL, frame_id=named)

    def retrieved(self, event_id: str, answer: Retrieved) -> f.Frame:
        raise NotImplementedError("no message of this dialect asks for an item")

    def alive(self, event_id: str, session: SessionId) -> f.Pong:
        return f.Pong()

    def resumed(self, event_id: str, view: Any, event: ClientResumed, token: str) -> f.Frame:
        raise NotImplementedError("nobody comes back to a stream")

    def replaced(self, event_id: str, session: SessionId, attachment: int) -> None:
        """Nobody takes a stream over."""

    def resync(self, event_id: str, session: SessionId, reason: str) -> f.Error:
        raise NotImplementedError("nobody comes back to a stream")


VIDEO = Dialect(
    name="video",
    mode="video",
    projection=VideoProjection(),
    audio=f.AudioDelta,
    greeting=type(None),  # nobody is given a token
    entrust=lambda frame, token: frame,
    sound=VideoSound,
    replies=VideoReplies(),
    begin=begin,
    decoder=VideoDecoder,
    drops_when_full=False,
    inline=INLINE,
    comes_back=False,
)
