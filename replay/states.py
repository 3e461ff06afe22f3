"""The state of a session at any of its events: what the core knew at that moment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from antiphon.actors.session.evolve import refold
from antiphon.actors.session.state import Session
from antiphon.events.codec import refuse_unknown_critical
from antiphon.events.envelope import Stored
from antiphon.events.ids import SessionId

from .timeline import Elapsed


class StateAt(Struct, frozen=True):
    """`last` is the event after which it is; `seconds` how long after the session's first."""

    state: Session
    last: Stored
    seconds: float


def state_at(session: SessionId, events: Iterable[Stored], seq: int | None) -> StateAt | None:
    """After the event `seq`, or after the last; None where there is no such event. Raises UnknownCritical."""
    state, last, seconds = Session(session), None, 0.0
    elapsed = Elapsed()
    for stored in events:
        if seq is not None and stored.seq > seq:
            break
        state, last, seconds = after(state, (stored,)), stored, elapsed.seconds(stored)
    if last is None or (seq is not None and last.seq < seq):
        return None
    return StateAt(state, last, seconds)


def after(known: Session, events: Iterable[Stored]) -> Session:
    """What is known once the events that follow have happened, too. Raises UnknownCritical."""
    for stored in events:
        refuse_unknown_critical(stored)
        known = refold(known, stored)
    return known


def shown(state: Session) -> dict[str, Any]:
    """A state as people are shown it: what is unusual about it, but for the event after which it is."""
    members: dict[str, Any] = unusual(state)
    return {name: one for name, one in members.items() if name not in ("seq", "at")}


def unusual(value: Any) -> Any:
    """Structs as dicts of what is not as it usually is, and so on in what they hold."""
    if isinstance(value, Struct):
        members = {}
        for field in msgspec.structs.fields(value):
            found = getattr(value, field.name)
            if field.required or found != field.default:
                members[field.name] = unusual(found)
        return members
    if isinstance(value, dict):
        return {str(key): unusual(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [unusual(one) for one in value]
    if isinstance(value, set | frozenset):
        return sorted(unusual(one) for one in value)
    return value.hex() if isinstance(value, bytes) else value
