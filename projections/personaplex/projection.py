"""Both dialects as Projections (projections/base.py): one step, two wires."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from antiphon.events.envelope import Stored

from . import frames as f
from .step import step
from .view import View
from .wires import tagged, untagged

VERSION = 1


class _Continuous:
    """Implements Projection, but for `encode`."""

    version = VERSION
    encode: Callable[[f.Frame], bytes]

    @staticmethod
    def begin(attachment: int) -> View:
        return View(attachment)

    @staticmethod
    def adopt(view: View, attachment: int) -> View:
        return replace(view, attachment=attachment)

    @staticmethod
    def meaning(frame: f.Frame, stored: Stored) -> bytes:
        match frame:
            case f.Audio():
                return b"" if stored.blob is None else stored.blob.crc32c.to_bytes(4, "little")
            case f.Text(text=text):
                return text.encode()
            case f.Error(code=code):
                return code.encode()
            case _:
                return b""


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
