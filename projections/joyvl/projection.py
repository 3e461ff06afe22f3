"""The dialect as a Projection (projections/base.py)."""

from __future__ import annotations

from antiphon.events.envelope import Stored
from antiphon.projections.common import DialectProjection

from . import frames as f
from .step import View, step

VERSION = 1


class JoyvlProjection(DialectProjection):
    """Implements Projection."""

    version = VERSION
    view = View
    step = staticmethod(step)

    def meaning(self, frame: f.Frame, stored: Stored) -> bytes:
        if isinstance(frame, f.Failed):
            return frame.error.code.encode()
        return frame.choices[0].message.content.encode()
