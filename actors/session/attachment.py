"""Connections: who may command the session, and what happens when they go.

One connection commands at a time. When it goes and nothing can bring it back, the session ends: as `client`
when the client closed it, as `disconnected` when the network did. What a client signals of the turn is told
to whoever watches, and obeyed by nobody.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events.units import Moment
from antiphon.events.vocabulary import (
    ClientAttached,
    ClientDetached,
    Event,
    EventsAcknowledged,
    FramesSent,
    SessionClosed,
    TurnSignalled,
)

from .commands import AcknowledgeEvents, Attach, Detach, SignalTurn
from .refusals import NoSuchFrame
from .state import Attached, Session

FRAMES_PER_EVENT = 64
"""What separates the numbers of two events' first frames."""


def attach(state: Session, command: Attach, at: Moment) -> list[Event]:
    return [
        ClientAttached(attachment=state.attached.count + 1, dialect=command.dialect, client=command.client)
    ]


def detach(state: Session, command: Detach, at: Moment) -> list[Event]:
    if command.attachment == 0 or command.attachment != state.attached.current:
        return []
    return [ClientDetached(attachment=command.attachment, reason=command.reason, code=command.code)]


def acknowledge_events(state: Session, command: AcknowledgeEvents, at: Moment) -> list[Event]:
    """Frames up to that number need not be said again. Of less than is known it is nothing."""
    if not 0 <= command.through < state.seq * FRAMES_PER_EVENT:
        raise NoSuchFrame(f"no frame {command.through} was sent", parameter="server_event_seq")
    if command.through <= state.attached.acknowledged:
        return []
    return [EventsAcknowledged(attachment=command.attachment, through=command.through)]


def signal_turn(state: Session, command: SignalTurn, at: Moment) -> list[Event]:
    return [TurnSignalled(event=command.event, payload=command.payload)]


def end_alone(state: Session, event: ClientDetached, at: Moment) -> list[Event]:
    reasons = {"closed": "client", "server": "shutdown", "expelled": "expelled"}
    reason = reasons.get(event.reason, "disconnected")
    return [SessionClosed(reason=reason)] if state.phase == "open" else []


def fold(state: Session, event: Event, at: Moment) -> Session:
    match event:
        case ClientAttached(attachment=number):
            return replace(state, attached=Attached(number, number))
        case ClientDetached(attachment=number) if number == state.attached.current:
            return replace(state, attached=replace(state.attached, current=0))
        case FramesSent(attachment=number, through=through) if number == state.attached.count:
            return replace(state, attached=replace(state.attached, reported=through))
        case EventsAcknowledged(through=through):
            return replace(state, attached=replace(state.attached, acknowledged=through))
        case _:
            return state
