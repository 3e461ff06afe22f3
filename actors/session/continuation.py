"""Continuation: a model that hears in units also speaks in units, and somebody must go on giving them.

While an answer is under way, or the user's turn was ended and not yet answered, and no input is there, units
of silence are given on the server's clock: one each unit's length, without drift. At most MOST of them follow
each other (MOST_BY_ITSELF where answers come by themselves), and the last leaves the model no choice but to
listen. If that does not end the answer, it ends here (`continuation_limit`).
"""

from __future__ import annotations

from antiphon.events.units import Moment, Samples
from antiphon.events.vocabulary import Event, ModelListened, ResponseEnded, UnitSubmitted

from .state import Session

MOST = 8
MOST_BY_ITSELF = 64
LIMIT = "continuation_limit"


def limit(state: Session) -> int:
    return MOST_BY_ITSELF if state.config.auto_response else MOST


def due_ns(state: Session) -> int | None:
    """When the next unit of silence is due. Input in a stream waits for its rest for one unit's length."""
    units, active = state.units, state.turns.active
    fed = active is not None and active.operation is None
    if not state.unit or not (fed or units.awaiting):
        return None
    if units.flight is not None or units.broken or state.proposals:
        return None
    period = state.abilities.unit_ms * 1_000_000
    latest = max(units.paced_mono_ns, state.buffer.last_mono_ns) if state.streams else units.paced_mono_ns
    return latest + period


def go_on(state: Session, at: Moment) -> list[Event]:
    due, units, most = due_ns(state), state.units, limit(state)
    if due is None or at.mono_ns < due:
        return []
    if units.silences >= most:
        return _given_up(state)
    here = Samples(units.given)
    last = units.silences + 1 == most
    return [
        UnitSubmitted(
            work="unit",
            fence=state.fence,
            from_sample=here,
            until_sample=here,
            silence=Samples(state.unit),
            force_listen=last,
        )
    ]


def _given_up(state: Session) -> list[Event]:
    active = state.turns.active
    if active is None:
        return [ModelListened(reason=LIMIT)]
    return [
        ModelListened(reason=LIMIT, response=active.response),
        ResponseEnded(response=active.response, outcome="completed"),
    ]
