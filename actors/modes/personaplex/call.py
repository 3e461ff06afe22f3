"""What a call over the Moshi wire remembers beside what every session does."""

from __future__ import annotations

from antiphon.actors.session.state import Session, Slice


class Call(Slice, frozen=True, gc=False):
    """`slot_mono_ns`: the moment that the latest unit stood for (clock.py). `undecodable`: pieces of the
    stream that could not be decoded, less those that could. `finished`: the client sends no more.

    `behind`: samples that have waited behind every unit since `watched_mono_ns`; None: no unit was given.
    """

    slot_mono_ns: int = 0
    undecodable: int = 0
    finished: bool = False
    watched_mono_ns: int = 0
    behind: int | None = None


def of(state: Session) -> Call:
    assert isinstance(state.own, Call), "a call has its slice from SessionOpened on"
    return state.own


def is_ready(state: Session) -> bool:
    """Whether the model hears: it has taken the session in, and is there."""
    return all(stage != "model" for stage, _ in (*state.opening, *state.away))
