"""The dialect as a Projection (projections/base.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from antiphon.events.envelope import Stored

from . import frames as f
from .step import Frames, View, event_id, step

VERSION = 2


def _audio(frame: f.AudioDelta, stored: Stored) -> bytes:
    """The first delta of an event speaks for all: in version 1 it was the only one."""
    if stored.blob is None or frame.event_id != event_id(stored, 0):
        return b""
    return stored.blob.crc32c.to_bytes(4, "little")


def _delta(frame: f.TranscriptDelta | f.TextDelta, stored: Stored) -> bytes:
    return frame.delta.encode()


def _transcript(frame: f.Transcribed, stored: Stored) -> bytes:
    return frame.transcript.encode()


def _status(frame: f.ResponseDone, stored: Stored) -> bytes:
    return str(frame.response["status"]).encode()


def _call(frame: f.ArgumentsDone, stored: Stored) -> bytes:
    return f"{frame.name}({frame.arguments})".encode()


MEANINGS: dict[type[f.Frame], Callable[[Any, Stored], bytes]] = {
    f.AudioDelta: _audio,
    f.TranscriptDelta: _delta,
    f.TextDelta: _delta,
    f.Transcribed: _transcript,
    f.ArgumentsDone: _call,
    f.ResponseDone: _status,
}


class RealtimeProjection:
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
