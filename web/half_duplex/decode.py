"""Client frames to commands, for one call.

Audio comes as float32 at 16 kHz in pieces of any length, is one stream until the call is prepared anew, and
is collected to 80 ms before it becomes a command. Samples that are louder than full scale are clipped; bytes
that are no samples are refused, and the call goes on.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable

import msgspec
from msgspec import Struct

from antiphon.actors.session.commands import AppendAudio, CloseSession
from antiphon.events.vocabulary import Config
from antiphon.media.encodings import WIDTH
from antiphon.projections.duplex.formats import Format
from antiphon.web.duplex.sound import InputSound
from antiphon.web.realtime.decode import COLLECTED, LARGEST_PIECE
from antiphon.web.realtime.undecodable import Undecodable, nested_too_deeply, unreadable
from antiphon.web.wishes import Wish

from . import frames as f
from .preparing import command

LARGEST_CHUNK = 1024 * 1024
"""Characters of an audio_chunk: twelve seconds."""
INPUT = Format("pcm_f32le", 16_000)

_decoder = msgspec.json.Decoder(f.ClientFrame)


class HalfDuplexDecoder:
    """Implements Decoder."""

    hurried: frozenset[type] = frozenset({f.Stop})
    audio: frozenset[type] = frozenset({f.AudioChunk})
    voiding: frozenset[type] = frozenset()

    def __init__(
        self,
        config: Callable[[], Config],
        *,
        recorded: bool = True,
        asks_stage: Callable[[], bool] = lambda: False,
    ) -> None:
        """`config` is the configuration that the session opened with (dialect.py): it says whether the model
        has a voice. `recorded`: the call's audio is kept. `asks_stage`: whether the stage says if it takes a
        configuration."""
        self._speaks, self._recorded = "audio" in config().output_modalities, recorded
        self._asks_stage = asks_stage
        self._sound = InputSound()
        self._held = bytearray()

    def read(self, text: str) -> list[Wish]:
        return self.wishes(self.parse(text))

    def parse(self, text: str) -> f.ClientFrame:
        try:
            return _decoder.decode(text)
        except msgspec.DecodeError as error:
            raise _told(unreadable(text, error, untyped="invalid_json"), text) from error
        except UnicodeEncodeError as error:
            raise Undecodable("invalid_json", "the frame is not valid UTF-8") from error
        except RecursionError as error:
            raise nested_too_deeply() from error

    def wishes(self, frame: f.ClientFrame) -> list[Wish]:
        match frame:
            case f.AudioChunk(audio_base64=str(encoded)) if encoded:
                self._held += self._sound.take(_samples(encoded), INPUT, None)
                return self.flush() if len(self._held) >= COLLECTED else []
            case f.Prepare():
                asked = self.at_once(frame)
                before = self.flush()
                self.forget()
                return [*before, *asked]
            case f.Stop():
                return [*self.flush(), *self.at_once(frame)]
            case _:
                return []

    def at_once(self, frame: f.ClientFrame) -> list[Wish]:
        match frame:
            case f.Prepare():
                asks = self._asks_stage()
                return [command(frame, speaks=self._speaks, recorded=self._recorded, asks_stage=asks)]
            case f.Stop():
                return [CloseSession(reason="client")]
            case _:
                return []

    def begins(self, frame: f.ClientFrame) -> bool:
        """Answers begin by what is heard."""
        return False

    def flush(self) -> list[Wish]:
        pcm = bytes(self._held)
        self._held.clear()
        starts = range(0, len(pcm), LARGEST_PIECE)
        return [AppendAudio(pcm=pcm[start : start + LARGEST_PIECE]) for start in starts]

    def forget(self) -> None:
        self._held.clear()
        self._sound.drop()

    def keep_apart(self, frames: int) -> None:
        """Nobody comes back to a call."""


class Tagged(Struct):
    type: str


def _told(bad: Undecodable, text: str) -> Undecodable:
    """In the words of the dialect, where it has its own."""
    if bad.code == "unknown_event":
        kind = msgspec.json.decode(text, type=Tagged).type
        return Undecodable(bad.code, f"Unknown type: {kind[:80]}", bad.param)
    if bad.param and bad.code in ("invalid_value", "invalid_type"):
        return Undecodable(bad.code, f"{bad.param}: {bad.message}", bad.param)
    return bad


def _samples(encoded: str) -> bytes:
    """Whole float32 samples. Raises Undecodable."""
    if len(encoded) > LARGEST_CHUNK:
        raise Undecodable("event_too_large", f"an audio_chunk holds at most {LARGEST_CHUNK} characters")
    try:
        raw = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise Undecodable("invalid_audio", "audio_base64 is not valid base64", "audio_base64") from None
    if len(raw) % WIDTH["pcm_f32le"]:
        told = f"{len(raw)} bytes are no whole number of float32 samples"
        raise Undecodable("invalid_audio", told, "audio_base64")
    return raw
