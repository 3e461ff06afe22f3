"""How a stream ends: when its client has finished, with its connection, with the process, or by silence.

A client that has finished hears the answer under way to its end. One that is silent for IDLE_S while nothing
is being answered has gone.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.actors.session.commands import KeepAlive, Park
from antiphon.actors.session.state import Session
from antiphon.events.units import SECOND_NS, Moment
from antiphon.events.vocabulary import (
    ClientDetached,
    ClientSeen,
    Event,
    ResponseEnded,
    SessionClosed,
    SessionExpired,
    SessionOpened,
    VideoFinished,
)

from .commands import Finish
from .stream import Stream, of

IDLE_S = 60
ENDS = {"closed": "client", "server": "shutdown", "expelled": "expelled"}
"""Why a connection ended, and so the stream; of all others it is `disconnected`."""


def finish(state: Session, command: Finish, at: Moment) -> list[Event]:
    return [] if of(state).finished else [VideoFinished()]


def end_if_done(state: Session, event: VideoFinished | ResponseEnded, at: Moment) -> list[Event]:
    over = isinstance(event, ResponseEnded) and event.session_over
    if over or not of(state).finished or state.turns.active is not None:
        return []
    return [SessionClosed(reason="client")]


def end_with_client(state: Session, event: ClientDetached, at: Moment) -> list[Event]:
    """Nobody comes back to a stream."""
    if state.phase != "open":
        return []
    return [SessionClosed(reason=ENDS.get(event.reason, "disconnected"))]


def end_with_process(state: Session, command: Park, at: Moment) -> list[Event]:
    return [SessionClosed(reason=command.reason)]


def keep_alive(state: Session, command: KeepAlive, at: Moment) -> list[Event]:
    """A sign of life is a fact, but not more than once a second."""
    if at.mono_ns < of(state).seen_mono_ns + SECOND_NS:
        return []
    return [ClientSeen(attachment=command.attachment)]


def due_ns(state: Session) -> int | None:
    """When the client will have been silent for too long; never while it waits for an answer."""
    return None if state.turns.active is not None else of(state).seen_mono_ns + IDLE_S * SECOND_NS


def expire(state: Session, at: Moment) -> list[Event]:
    due = due_ns(state)
    return [] if due is None or at.mono_ns < due else [SessionExpired(reason="idle")]


def fold(state: Session, event: Event, at: Moment) -> Session:
    """When the client was last heard of; an answer that ends begins the time anew."""
    match event:
        case SessionOpened():
            return replace(state, own=Stream(seen_mono_ns=at.mono_ns))
        case VideoFinished():
            return replace(state, own=replace(of(state), finished=True))
        case _:
            return replace(state, own=replace(of(state), seen_mono_ns=at.mono_ns))
