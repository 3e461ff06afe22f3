"""The dialect as a Projection (projections/base.py)."""

from __future__ import annotations

from collections.abc import Mapping

from antiphon.projections.common import DialectProjection, Meaning, audio

from . import frames as f
from .step import step
from .view import View

VERSION = 1


MEANINGS: Mapping[type[f.Frame], Meaning] = {
    f.FrameAck: lambda frame, stored: f"{frame.frame_id} {frame.accepted}".encode(),
    f.FramesConsumed: lambda frame, stored: " ".join(frame.frame_ids).encode(),
    f.TextDelta: lambda frame, stored: frame.delta.encode(),
    f.TextDone: lambda frame, stored: frame.text.encode(),
    # Of an answer that did not stream it is of many events: its text and its end speak for it.
    f.AudioDelta: audio,
    f.AudioDone: lambda frame, stored: frame.status.encode(),
    f.Error: lambda frame, stored: frame.code.encode(),
}


class VideoProjection(DialectProjection):
    """Implements Projection."""

    version = VERSION
    view = View
    meanings = MEANINGS
    step = staticmethod(step)
