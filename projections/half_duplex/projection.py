"""The dialect as a Projection (projections/base.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from antiphon.events.envelope import Stored

from . import frames as f
from .step import step
from .view import View

VERSION = 1


def _audio(frame: f.AudioChunk, stored: Stored) -> bytes:
    return b"" if stored.blob is None else stored.blob.crc32c.to_bytes(4, "little")


def _words(frame: f.Chunk, stored: Stored) -> bytes:
    return (frame.text_delta or "").encode()


def _turn(frame: f.TurnDone, stored: Stored) -> bytes:
    return f"{frame.turn_index}: {frame.text}".encode()


def _code(frame: f.Error, stored: Stored) -> bytes:
    return frame.code.encode()


MEANINGS: Mapping[type[f.Frame], Callable[[Any, Stored], bytes]] = {
    f.AudioChunk: _audio,
    f.Chunk: _words,
    f.TurnDone: _turn,
    f.Error: _code,
}


class HalfDuplexProjection:
    """Implements Projection."""

    version = VERSION
    encode = staticmethod(msgspec.json.Encoder().encode)

    @staticmethod
    def begin(attachment: int) -> View:
        return View(attachment)

    @staticmethod
    def adopt(view: View, attachment: int) -> View:
        return replace(view, attachment=attachment)

    @staticmethod
    def step(view: View, stored: Stored) -> tuple[View, list[f.Frame]]:
        return step(view, stored)

    @staticmethod
    def meaning(frame: f.Frame, stored: Stored) -> bytes:
        says = MEANINGS.get(type(frame))
        return b"" if says is None else says(frame, stored)
