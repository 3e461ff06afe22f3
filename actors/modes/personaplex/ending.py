"""How a call ends: with its connection, or when the client has finished and everything is answered.

A client that has a token may come back, and its session waits for it as any other does; the model is given
silence meanwhile. Of a client that finishes the last unit is filled up.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.actors.session import attachment, life
from antiphon.actors.session.commands import Park
from antiphon.actors.session.state import Session
from antiphon.events.units import Moment, Samples
from antiphon.events.vocabulary import (
    ClientDetached,
    Event,
    InputFinished,
    ResponseEnded,
    SessionClosed,
    UnitCompleted,
    UnitRefused,
    UnitSubmitted,
)

from .call import of
from .commands import Finish

ENDS = {"closed": "client", "server": "shutdown", "expelled": "expelled"}
"""Why a connection ended, and so the session; of all others it is `disconnected`."""


def end_with_client(state: Session, event: ClientDetached, at: Moment) -> list[Event]:
    if state.attached.token:
        return attachment.end_alone(state, event, at)
    if state.phase != "open":
        return []
    return [SessionClosed(reason=ENDS.get(event.reason, "disconnected"))]


def park(state: Session, command: Park, at: Moment) -> list[Event]:
    """Nobody comes back without a token."""
    return life.park(state, command, at) if state.attached.token else [SessionClosed(reason=command.reason)]


def finish(state: Session, command: Finish, at: Moment) -> list[Event]:
    return [] if of(state).finished else [InputFinished()]


def go_on(state: Session, event: InputFinished | UnitCompleted, at: Moment) -> list[Event]:
    """The next step of a client's end: the last unit, or the end itself. Whole units the core gives."""
    if is_answered(state):
        return [] if state.turns.active is not None else [SessionClosed(reason="client")]
    left = _left(state)
    if not of(state).finished or state.phase != "open" or state.units.flight or not 0 < left < state.unit:
        return []
    start = max(state.units.given, state.units.floor)
    return [
        UnitSubmitted(
            work="unit",
            fence=state.fence,
            from_sample=Samples(start),
            until_sample=Samples(state.buffer.appended),
            silence=Samples(state.unit - left),
            final=True,
        )
    ]


def is_answered(state: Session) -> bool:
    """The client sends no more, and the model has heard all of it, or would not take it. An answer may still
    be under way: what ends it is said first, and the clock gives up waiting for that (clock.py)."""
    heard = state.units.flight is None and (state.units.broken or not _left(state))
    return of(state).finished and state.phase == "open" and heard


def _left(state: Session) -> int:
    """Samples that the model has not been given."""
    return state.buffer.appended - max(state.units.given, state.units.floor) if state.unit else 0


def go_without(state: Session, event: UnitRefused | ResponseEnded, at: Moment) -> list[Event]:
    """A unit was not taken, and the client will not say more to be given in its place; or the last answer
    has ended."""
    if isinstance(event, ResponseEnded) and event.session_over:
        return []
    over = is_answered(state) and state.turns.active is None
    return [SessionClosed(reason="client")] if over else []


def fold(state: Session, event: Event, at: Moment) -> Session:
    return replace(state, own=replace(of(state), finished=True))
