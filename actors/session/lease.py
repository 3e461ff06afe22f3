"""The lease: how long a session lasts that nobody ends.

It ends when nothing at all has happened for too long, when nobody has been connected for too long, and when
it is too old. The last waits for the turn: an answer that is being generated or played is not cut off, but
for one that takes longer than the grace that the terms give it. The server sets the terms; they are in the
log, so that a recovered session has those that it began with.

    reason                      due
    idle_ttl_expired            the time since the last event, unless an answer is under way
    disconnect_grace_expired    the time since the last client went (since the writer began, if that is later)
    max_session_expired         wall time since the opening

A client that has nothing to say says that it is there. That is a fact when it has not been said for a
quarter of the time.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events.units import SECOND_NS, Moment
from antiphon.events.vocabulary import (
    ClientAttached,
    ClientDetached,
    ClientResumed,
    ClientSeen,
    Event,
    SessionExpired,
    SessionOpened,
    SessionParked,
    WriterOpened,
)

from .commands import Expire, KeepAlive
from .heard import is_playing
from .state import Lease, Session


def due_ns(state: Session) -> int | None:
    """When the lease may be over, on the monotonic clock."""
    return min((due for due, _ in _dues(state)), default=None)


def _dues(state: Session) -> list[tuple[int, str]]:
    lease, dues = state.lease, []
    terms = lease.terms
    if lease.left_mono_ns is not None and terms.disconnect_grace_s > 0:
        dues.append((lease.left_mono_ns + _ns(terms.disconnect_grace_s), "disconnect_grace_expired"))
    if terms.max_session_s is not None:
        age_ns = state.at.wall_ns - lease.opened_wall_ns
        left_ns = _ns(terms.max_session_s) - age_ns
        if _is_busy(state):
            left_ns = max(left_ns, _ns(terms.max_session_s + terms.turn_grace_s) - age_ns)
        dues.append((state.at.mono_ns + left_ns, "max_session_expired"))
    if terms.idle_ttl_s is not None and state.turns.active is None:
        dues.append((state.at.mono_ns + _ns(terms.idle_ttl_s), "idle_ttl_expired"))
    return dues


def _is_busy(state: Session) -> bool:
    return state.turns.active is not None or any(is_playing(one) for one in state.played[-2:])


def _ns(seconds: float) -> int:
    return int(seconds * SECOND_NS)


def end(state: Session, at: Moment) -> list[Event]:
    """What is over ends."""
    over = [(due, reason) for due, reason in _dues(state) if due <= at.mono_ns]
    return [SessionExpired(reason=min(over)[1])] if over else []


def expire(state: Session, command: Expire, at: Moment) -> list[Event]:
    return [SessionExpired(reason="disconnect_grace_expired")]


def keep_alive(state: Session, command: KeepAlive, at: Moment) -> list[Event]:
    ttl = state.lease.terms.idle_ttl_s
    if ttl is None or at.mono_ns < state.at.mono_ns + _ns(ttl) // 4:
        return []
    return [ClientSeen(attachment=command.attachment)]


def fold(state: Session, event: Event, at: Moment) -> Session:
    match event:
        case SessionOpened(terms=terms):
            return replace(state, lease=Lease(terms, at.wall_ns))
        case ClientAttached() | ClientResumed():
            return _left(state, None)
        case ClientDetached(attachment=number) if number == state.attached.current:
            return _left(state, at.mono_ns)
        case SessionParked():
            return _left(state, at.mono_ns)
        case WriterOpened() if state.lease.left_mono_ns is not None:
            return _left(state, at.mono_ns)
        case _:
            return state


def _left(state: Session, when: int | None) -> Session:
    return replace(state, lease=replace(state.lease, left_mono_ns=when))
