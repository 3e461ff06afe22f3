"""What the dialects have in common: JSON, a view that knows its attachment, a table of what frames say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from antiphon.events.envelope import Stored

Meaning = Callable[[Any, Stored], bytes]


def audio(frame: Any, stored: Stored) -> bytes:
    """What the audio of an event is known by."""
    return b"" if stored.blob is None else stored.blob.crc32c.to_bytes(4, "little")


class DialectProjection:
    """Implements Projection (base.py) for a dialect that says its `version`, its `view`, its `step` and, of
    the kinds of frames that say something, what they say."""

    version: int
    view: ClassVar[type[Any]]
    meanings: ClassVar[Mapping[type[Any], Meaning]] = {}
    step: Callable[[Any, Stored], tuple[Any, Sequence[Any]]]
    encode: Callable[[Any], bytes] = staticmethod(msgspec.json.Encoder().encode)

    def begin(self, attachment: int) -> Any:
        return self.view(attachment=attachment)

    def adopt(self, view: Any, attachment: int) -> Any:
        return replace(view, attachment=attachment)

    def meaning(self, frame: Any, stored: Stored) -> bytes:
        says = self.meanings.get(type(frame))
        return b"" if says is None else says(frame, stored)
