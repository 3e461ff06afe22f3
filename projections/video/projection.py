"""The dialect as a Projection (projections/base.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from antiphon.events.envelope import Stored

from . import frames as f
from .step import Frames, step
from .view import View

VERSION = 1


def _audio(frame: f.AudioDelta, stored: Stored) -> bytes:
    """That of an answer which did not stream is of many events: its text and its end speak for it."""
    return b"" if stored.blob is None else stored.blob.crc32c.to_bytes(4, "little")


MEANINGS: dict[type[f.Frame], Callable[[Any, Stored], bytes]] = {
    f.FrameAck: lambda frame, stored: f"{frame.frame_id} {frame.accepted}".encode(),
    f.FramesConsumed: lambda frame, stored: " ".join(frame.frame_ids).encode(),
    f.TextDelta: lambda frame, stored: frame.delta.encode(),
    f.TextDone: lambda frame, stored: frame.text.encode(),
    f.AudioDelta: _audio,
    f.AudioDone: lambda frame, stored: frame.status.encode(),
    f.Error: lambda frame, stored: frame.code.encode(),
}


class VideoProjection:
    """Implements Projection."""

    version = VERSION
    encode = staticmethod(msgspec.json.Encoder().encode)

    @staticmethod
    def begin(attachment: int) -> View:
        return View(attachment=attachment)

    @staticmethod
    def adopt(view: View, attachment: int) -> View:
        return replace(view, attachment=attachment)

    @staticmethod
    def step(view: View, stored: Stored) -> tuple[View, Frames]:
        return step(view, stored)

    @staticmethod
    def meaning(frame: f.Frame, stored: Stored) -> bytes:
        says = MEANINGS.get(type(frame))
        return b"" if says is None else says(frame, stored)
