"""What clients send, as commands: tagged messages of `/api/chat`, or samples and JSON of `/v1/audio/duplex`.

Sound is collected to whole frames of 80 ms. Of `/api/chat` nothing but sound means anything: all other tags,
text messages and empty ones are passed over, and named once in the program's log.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import structlog

from antiphon.actors.modes.personaplex.commands import Finish, ReportUndecodable
from antiphon.actors.session.commands import AppendAudio
from antiphon.events.units import BYTES_PER_SAMPLE
from antiphon.events.vocabulary import Config
from antiphon.media import opus
from antiphon.media.encodings import WIDTH, NotSamples, to_samples
from antiphon.media.pcm import to_pcm
from antiphon.projections.personaplex.wires import AUDIO
from antiphon.web.realtime.decode import LARGEST_PIECE
from antiphon.web.realtime.undecodable import Undecodable, nested_too_deeply
from antiphon.web.wishes import Wish

log = structlog.get_logger(__name__)

FRAME = 1920 * BYTES_PER_SAMPLE
"""Bytes of 80 ms."""


class _Continuous:
    """Implements Decoder, but for what is said."""

    hurried: frozenset[type] = frozenset()
    audio: frozenset[type] = frozenset()
    voiding: frozenset[type] = frozenset()

    def __init__(self, config: Callable[[], Config]) -> None:
        self._held = bytearray()

    def at_once(self, frame: Any) -> list[Wish]:
        return []

    def begins(self, frame: Any) -> bool:
        """Answers begin by themselves."""
        return False

    def flush(self) -> list[Wish]:
        return self._whole(len(self._held))

    def forget(self) -> None:
        self._held.clear()

    def keep_apart(self, frames: int) -> None:
        """Nobody sends anything again."""

    def _hear(self, pcm: bytes) -> list[Wish]:
        self._held += pcm
        return self._whole(len(self._held) // FRAME * FRAME)

    def _whole(self, size: int) -> list[Wish]:
        pcm = bytes(self._held[:size])
        del self._held[:size]
        starts = range(0, size, LARGEST_PIECE)
        return [AppendAudio(pcm=pcm[start : start + LARGEST_PIECE]) for start in starts]


class PersonaPlexDecoder(_Continuous):
    """`/api/chat`"""

    def __init__(self, config: Callable[[], Config]) -> None:
        super().__init__(config)
        self._opus = opus.OpusReader()
        self._ignored: set[int] = set()

    def read(self, text: str) -> list[Wish]:
        return self.wishes(self.parse(text))

    def parse(self, text: str) -> str:
        return text

    def wishes(self, frame: bytes | str) -> list[Wish]:
        if not isinstance(frame, bytes) or not frame or frame[0] != AUDIO:
            self._ignore(frame)
            return []
        try:
            return self._hear(self._opus.feed(frame[1:]))
        except opus.Undecodable as bad:
            return [ReportUndecodable(size=len(frame) - 1, message=str(bad))]

    def _ignore(self, frame: bytes | str) -> None:
        tag = frame[0] if isinstance(frame, bytes) and frame else -1
        if tag not in self._ignored:
            self._ignored.add(tag)
            log.info("personaplex.ignored", tag=tag, text=isinstance(frame, str))


class AudioDuplexDecoder(_Continuous):
    """`/v1/audio/duplex`, once the session is open."""

    def read(self, text: str) -> list[Wish]:
        return self.wishes(self.parse(text))

    def parse(self, text: str) -> dict[str, Any]:
        return message(text)

    def wishes(self, frame: bytes | dict[str, Any]) -> list[Wish]:
        if isinstance(frame, bytes):
            return self._hear(samples(frame))
        match frame.get("type"):
            case "open":
                raise Undecodable("session_exists", "session already open", "type")
            case "close":
                return [*self.flush(), Finish()]
            case _:
                return []


def message(text: str) -> dict[str, Any]:
    """A JSON object. Raises Undecodable."""
    try:
        given = msgspec.json.decode(text)
    except RecursionError:
        raise nested_too_deeply() from None
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise Undecodable("invalid_json", "messages are JSON, or binary") from error
    if not isinstance(given, dict):
        raise Undecodable("invalid_json", "messages are JSON objects")
    return given


def samples(raw: bytes) -> bytes:
    """pcm16 of float32 samples; what is louder than full scale is clipped. Raises Undecodable."""
    if len(raw) % WIDTH["pcm_f32le"]:
        told = f"{len(raw)} bytes are no whole number of float32 samples"
        raise Undecodable("invalid_audio", told)
    try:
        return to_pcm(to_samples(raw, "pcm_f32le"))
    except NotSamples as bad:
        raise Undecodable("invalid_audio", str(bad)) from bad
