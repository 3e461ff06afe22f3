"""What a call over the Moshi wire remembers beside what every session does."""

from __future__ import annotations

from antiphon.actors.session.state import Session, Slice


class Call(Slice, frozen=True, gc=False):
    """`slot_mono_ns`: the moment that the latest unit stood for (clock.py). `undecodable`: pieces of the
    stream that could not be decoded, less those that could. `finished`: the client sends no more."""

    slot_mono_ns: int = 0
    undecodable: int = 0
    finished: bool = False


def of(state: Session) -> Call:
    assert isinstance(state.own, Call), "a call has its slice from SessionOpened on"
    return state.own


def is_ready(state: Session) -> bool:
    """Whether the model hears: it has taken the session in, and is there."""
    return all(stage != "model" for stage, _ in (*state.opening, *state.away))
