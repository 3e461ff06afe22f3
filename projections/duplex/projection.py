"""The dialect as a Projection (projections/base.py)."""

from __future__ import annotations

from collections.abc import Mapping

from antiphon.events.envelope import Stored
from antiphon.projections.common import DialectProjection, Meaning, audio

from . import frames as f
from .step import step
from .view import View

VERSION = 2


def _delta(frame: f.TranscriptDelta | f.TextDelta | f.ArgumentsDelta, stored: Stored) -> bytes:
    return frame.delta.encode()


def _transcript(frame: f.Transcribed, stored: Stored) -> bytes:
    return frame.transcript.encode()


def _status(frame: f.ResponseDone, stored: Stored) -> bytes:
    return str(frame.response["status"]).encode()


MEANINGS: Mapping[type[f.Frame], Meaning] = {
    f.AudioDelta: audio,
    f.TranscriptDelta: _delta,
    f.TextDelta: _delta,
    f.ArgumentsDelta: _delta,
    f.Transcribed: _transcript,
    f.ResponseDone: _status,
}


class DuplexProjection(DialectProjection):
    """Implements Projection."""

    version = VERSION
    view = View
    meanings = MEANINGS
    step = staticmethod(step)
