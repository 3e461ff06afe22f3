"""The dialect as a Projection (projections/base.py)."""

from __future__ import annotations

from collections.abc import Mapping

from antiphon.events.envelope import Stored
from antiphon.projections.common import DialectProjection, Meaning, audio

from . import frames as f
from .step import step
from .view import View

VERSION = 1


def _words(frame: f.Chunk, stored: Stored) -> bytes:
    return (frame.text_delta or "").encode()


def _turn(frame: f.TurnDone, stored: Stored) -> bytes:
    return f"{frame.turn_index}: {frame.text}".encode()


def _code(frame: f.Error, stored: Stored) -> bytes:
    return frame.code.encode()


MEANINGS: Mapping[type[f.Frame], Meaning] = {
    f.AudioChunk: audio,
    f.Chunk: _words,
    f.TurnDone: _turn,
    f.Error: _code,
}


class HalfDuplexProjection(DialectProjection):
    """Implements Projection."""

    version = VERSION
    view = View
    meanings = MEANINGS
    step = staticmethod(step)
