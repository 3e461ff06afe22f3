"""step(view, stored): the frames an event amounts to for a native client."""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.actors.session.fence import INPUT_CANCELLED
from antiphon.events.envelope import Stored
from antiphon.events.vocabulary import EpochAdvanced, InputCleared
from antiphon.projections.duplex.step import numbered, unnumbered

from . import frames as f
from .view import View
from .wording import worded


def step(view: View, stored: Stored) -> tuple[View, list[f.AnyFrame]]:
    """The view after the event, and its frames in order, numbered."""
    after, shown = unnumbered(view, stored)
    assert isinstance(after, View)
    said = worded(after, stored, shown)
    frames: list[f.AnyFrame] = numbered(stored.seq, said) if said else []
    match stored.event:
        case EpochAdvanced(reason=reason):
            return replace(after, cancelling=reason == INPUT_CANCELLED), frames
        case InputCleared():
            return replace(after, cancelling=False), frames
        case _:
            return after, frames
