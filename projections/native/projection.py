"""The dialect as a Projection (projections/base.py)."""

from __future__ import annotations

from collections.abc import Mapping

from antiphon.events.envelope import Stored
from antiphon.projections.common import DialectProjection, Meaning, audio
from antiphon.projections.duplex import projection as duplex

from . import frames as f
from .step import step
from .view import View

WORDING = 0
"""Raised when only the wording changes: what there is to say has the duplex dialect's version."""
VERSION = duplex.VERSION + WORDING


def _words(frame: f.WordsDelta, stored: Stored) -> bytes:
    return frame.text.encode()


def _delta(frame: f.TextDelta, stored: Stored) -> bytes:
    return frame.delta.encode()


def _arguments(frame: f.FunctionCallDone, stored: Stored) -> bytes:
    return frame.arguments.encode()


def _transcript(frame: f.InputTranscribed, stored: Stored) -> bytes:
    return frame.transcript.encode()


def _status(frame: f.ResponseDone, stored: Stored) -> bytes:
    return frame.status.encode()


def _cancelled(frame: f.AudioCancelled, stored: Stored) -> bytes:
    return b"cancelled"


MEANINGS: Mapping[type[f.AnyFrame], Meaning] = {
    f.AudioDelta: audio,
    f.WordsDelta: _words,
    f.TextDelta: _delta,
    f.FunctionCallDone: _arguments,
    f.InputTranscribed: _transcript,
    f.ResponseDone: _status,
    f.AudioCancelled: _cancelled,
}


class NativeProjection(DialectProjection):
    """Implements Projection."""

    version = VERSION
    view = View
    meanings = MEANINGS
    step = staticmethod(step)
