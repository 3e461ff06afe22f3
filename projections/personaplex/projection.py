"""Both dialects as Projections (projections/base.py): one step, two wires."""

from __future__ import annotations

from collections.abc import Mapping

from antiphon.events.envelope import Stored
from antiphon.projections.common import DialectProjection, Meaning, audio

from . import frames as f
from .step import step
from .view import View
from .wires import tagged, untagged

VERSION = 1


MEANINGS: Mapping[type[f.Frame], Meaning] = {
    f.Audio: audio,
    f.Text: lambda frame, stored: frame.text.encode(),
    f.Error: lambda frame, stored: frame.code.encode(),
}


class _Continuous(DialectProjection):
    version = VERSION
    view = View
    meanings = MEANINGS


class PersonaPlexProjection(_Continuous):
    """`/api/chat`, which knows no farewell but the close frame."""

    encode = staticmethod(tagged)

    @staticmethod
    def step(view: View, stored: Stored) -> tuple[View, list[f.Frame]]:
        view, frames = step(view, stored)
        return view, [frame for frame in frames if not isinstance(frame, f.Done)]


class AudioDuplexProjection(_Continuous):
    """`/v1/audio/duplex`."""

    encode = staticmethod(untagged)
    step = staticmethod(step)
