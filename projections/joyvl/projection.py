"""The dialect as a Projection (projections/base.py)."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from antiphon.events.envelope import Stored

from . import frames as f
from .step import View, step

VERSION = 1


class JoyvlProjection:
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
    def step(view: View, stored: Stored) -> tuple[View, list[f.Frame]]:
        return step(view, stored)

    @staticmethod
    def meaning(frame: f.Frame, stored: Stored) -> bytes:
        if isinstance(frame, f.Failed):
            return frame.error.code.encode()
        return frame.choices[0].message.content.encode()
