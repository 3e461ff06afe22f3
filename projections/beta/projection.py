"""The beta's names as a Projection (projections/base.py): today's frames under their former names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import asdict, replace

from antiphon.events.envelope import Stored
from antiphon.projections.realtime import frames as today
from antiphon.projections.realtime import projection as realtime
from antiphon.projections.realtime.step import View, event_id, step

from . import frames as f
from . import names

NAMES = 0
"""Raised when something is called otherwise; what changes the frames that are renamed changes these, too."""
VERSION = realtime.VERSION + NAMES

FORMER: dict[type[today.Frame], type[today.Frame]] = {
    today.ItemAdded: f.ItemCreated,
    today.AudioDelta: f.AudioDelta,
    today.AudioDone: f.AudioDone,
    today.TranscriptDelta: f.TranscriptDelta,
    today.TranscriptDone: f.TranscriptDone,
    today.TextDelta: f.TextDelta,
    today.TextDone: f.TextDone,
}
"""Kinds of frames that had another name."""

MEANINGS = {FORMER.get(kind, kind): says for kind, says in realtime.MEANINGS.items()}


def former(frame: Any) -> Any | None:
    """A frame as the beta had it; None: the beta had none of the kind."""
    if type(frame) is today.ItemDone:
        return None
    members = {
        name: RENAMED[name](value) if name in RENAMED else value for name, value in asdict(frame).items()
    }
    return FORMER.get(type(frame), type(frame))(**members)


def _error(body: today.ErrorBody) -> today.ErrorBody:
    return replace(body, param=names.parameter(body.param))


RENAMED: dict[str, Callable[[Any], Any]] = {
    "session": names.flat,
    "item": names.item,
    "response": names.response,
    "error": lambda said: _error(said) if isinstance(said, today.ErrorBody) else said,
}
"""Members of frames whose inside had other names."""


class BetaProjection(realtime.RealtimeProjection):
    """Implements Projection. Views are those of projections/realtime."""

    version = VERSION
    meanings = MEANINGS

    @staticmethod
    def step(view: View, stored: Stored) -> tuple[View, list[today.Frame]]:
        view, shown = step(view, stored)
        renamed = [one for one in map(former, shown) if one is not None]
        return view, [replace(one, event_id=event_id(stored, k)) for k, one in enumerate(renamed)]
