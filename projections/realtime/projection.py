"""The dialect as a Projection (projections/base.py)."""

from __future__ import annotations

from collections.abc import Mapping

from antiphon.events.envelope import Stored
from antiphon.projections.common import DialectProjection, Meaning

from . import frames as f
from .step import View, event_id, step

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


MEANINGS: Mapping[type[f.Frame], Meaning] = {
    f.AudioDelta: _audio,
    f.TranscriptDelta: _delta,
    f.TextDelta: _delta,
    f.Transcribed: _transcript,
    f.ArgumentsDone: _call,
    f.ResponseDone: _status,
}


class RealtimeProjection(DialectProjection):
    """Implements Projection."""

    version = VERSION
    view = View
    meanings = MEANINGS
    step = staticmethod(step)
