"""The dialect as a Projection (projections/base.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from antiphon.events.envelope import Stored

from . import frames as f
from .step import step
from .view import View

VERSION = 2


def audio(frame: Any, stored: Stored) -> bytes:
    """What the audio of an event is known by."""
    return b"" if stored.blob is None else stored.blob.crc32c.to_bytes(4, "little")


def _delta(frame: f.TranscriptDelta | f.TextDelta | f.ArgumentsDelta, stored: Stored) -> bytes:
    return frame.delta.encode()


def _transcript(frame: f.Transcribed, stored: Stored) -> bytes:
    return frame.transcript.encode()


def _status(frame: f.ResponseDone, stored: Stored) -> bytes:
    return str(frame.response["status"]).encode()


Meaning = Callable[[Any, Stored], bytes]

MEANINGS: Mapping[type[f.Frame], Meaning] = {
    f.AudioDelta: audio,
    f.TranscriptDelta: _delta,
    f.TextDelta: _delta,
    f.ArgumentsDelta: _delta,
    f.Transcribed: _transcript,
    f.ResponseDone: _status,
}


class DuplexProjection:
    """Implements Projection. `meanings`: of the kinds of frames that say something, what they say."""

    version = VERSION
    meanings: ClassVar[Mapping[type[Any], Meaning]] = MEANINGS
    encode = staticmethod(msgspec.json.Encoder().encode)

    @staticmethod
    def begin(attachment: int) -> View:
        return View(attachment=attachment)

    @staticmethod
    def adopt(view: View, attachment: int) -> View:
        return replace(view, attachment=attachment)

    @staticmethod
    def step(view: View, stored: Stored) -> tuple[View, list[f.Frame]]:
        return step(view, stored)

    def meaning(self, frame: Any, stored: Stored) -> bytes:
        says = self.meanings.get(type(frame))
        return b"" if says is None else says(frame, stored)
