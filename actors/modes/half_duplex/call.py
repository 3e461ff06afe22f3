"""What a half-duplex call remembers beside what every session does."""

from __future__ import annotations

from antiphon.actors.session.heard import is_playing
from antiphon.actors.session.state import Session, Slice
from antiphon.events.ids import ItemId

PREPARE_MS = 60_000
"""How long a client may take to prepare the call once it has its place."""


class Call(Slice, frozen=True, gc=False):
    """`prepared` counts; 0: not yet. Its time runs from `since_mono_ns`, for `lasts_ms`. `waiting` are
    segments that are answered when the present answer has been played."""

    since_mono_ns: int = 0
    lasts_ms: int = PREPARE_MS
    prepared: int = 0
    waiting: tuple[ItemId, ...] = ()


def of(state: Session) -> Call:
    assert isinstance(state.own, Call), "a call has its slice from SessionOpened on"
    return state.own


def is_playing_out(state: Session) -> bool:
    """Whether the user may still hear the assistant: what was sent has not had its time to play."""
    return any(is_playing(played) for played in state.played[-2:])


def is_speaking(state: Session) -> bool:
    """Whether the assistant has the word."""
    return state.turns.active is not None or bool(of(state).waiting) or is_playing_out(state)
