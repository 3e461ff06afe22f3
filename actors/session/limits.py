"""Abuse: a client that is refused again and again is disconnected.

A refusal changes no state but this count. More than MOST refusals within WINDOW end the session.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events.units import Moment
from antiphon.events.vocabulary import CommandRefused, Event, SessionFailed, WriterOpened

from .refusals import Refused
from .state import Refusals, Session

MOST = 100
WINDOW_NS = 10_000_000_000


def refuse(
    state: Session, refusal: Refused, attachment: int, client_event: str | None, at: Moment
) -> list[Event]:
    """The facts a refusal amounts to. A session that has ended records nothing more."""
    if state.phase != "open":
        return []
    refused = CommandRefused(
        code=refusal.code,
        message=refusal.message,
        attachment=attachment,
        parameter=refusal.parameter,
        client_event=client_event,
    )
    counted = fold(state, refused, at)
    if counted.refusals.count <= MOST:
        return [refused]
    return [
        refused,
        SessionFailed(code="too_many_errors", message=f"more than {MOST} refused commands in 10 s"),
    ]


def fold(state: Session, event: Event, at: Moment) -> Session:
    match event:
        case WriterOpened(boot=boot) if boot != state.boot:
            return replace(state, refusals=Refusals(at.mono_ns, 0))
        case CommandRefused():
            window = state.refusals
            if at.mono_ns - window.since_mono_ns > WINDOW_NS:
                window = Refusals(at.mono_ns, 0)
            return replace(state, refusals=replace(window, count=window.count + 1))
        case _:
            return state
