"""Connections: who may command the session, and what happens when they go.

One connection commands at a time. When it goes and nothing can bring it back, the session ends: as `client`
when the client closed it, as `disconnected` when the network did.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events.units import Moment
from antiphon.events.vocabulary import ClientAttached, ClientDetached, Event, FramesSent, SessionClosed

from .commands import Attach, Detach
from .state import Attached, Session


def attach(state: Session, command: Attach, at: Moment) -> list[Event]:
    return [
        ClientAttached(attachment=state.attached.count + 1, dialect=command.dialect, client=command.client)
    ]


def detach(state: Session, command: Detach, at: Moment) -> list[Event]:
    if command.attachment == 0 or command.attachment != state.attached.current:
        return []
    return [ClientDetached(attachment=command.attachment, reason=command.reason, code=command.code)]


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
        case _:
            return state
