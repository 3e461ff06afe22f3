"""The clock of a call: one unit in each unit's time, whatever the client sends.

Every unit stands for a slot. One of input stands for the moment at which it was given. When the next slot
is one unit's length in the past and no unit of input has come for it, silence is given for it instead, and
so on from slot to slot: a timer that fires late moves none of them, so there is no drift. Who is more than a
unit late all the same (a stage that computes for too long, a process that was stopped) begins anew rather
than make up for it in a hurry. The first slot is one unit behind the moment at which the model was ready.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.actors.session.state import Session
from antiphon.events.units import Moment, Samples
from antiphon.events.vocabulary import Event, SessionClosed, StageOpened, UnitSubmitted, WriterOpened

from .call import is_ready, of
from .ending import is_answered


def due_ns(state: Session) -> int | None:
    """When silence is due; None while the stage is busy, or where input does not come in units."""
    call, units = of(state), state.units
    if call.finished:
        return state.mono_ns if is_answered(state) else None
    if not state.unit or not is_ready(state):
        return None
    if units.flight is not None or units.broken or state.proposals:
        return None
    return call.slot_mono_ns + 2 * _period_ns(state)


def give_silence(state: Session, at: Moment) -> list[Event]:
    due = due_ns(state)
    if due is None or at.mono_ns < due:
        return []
    if of(state).finished:  # nothing that was said with the last unit has ended the answer
        return [SessionClosed(reason="client")]
    here = Samples(max(state.units.given, state.units.floor))
    silence = Samples(state.unit)
    return [
        UnitSubmitted(work="unit", fence=state.fence, from_sample=here, until_sample=here, silence=silence)
    ]


def fold(state: Session, event: Event, at: Moment) -> Session:
    call = of(state) if state.own is not None else None
    match event:
        case StageOpened(stage="model") if call is not None:
            return replace(state, own=replace(call, slot_mono_ns=at.mono_ns))
        case UnitSubmitted(work="unit", from_sample=start, until_sample=until) if call is not None:
            slot = _after(state, call.slot_mono_ns, at) if start == until else at.mono_ns
            return replace(state, own=replace(call, slot_mono_ns=slot))
        case WriterOpened() if call is not None:
            return replace(state, own=replace(call, slot_mono_ns=at.mono_ns))
        case _:
            return state


def _after(state: Session, slot_mono_ns: int, at: Moment) -> int:
    """The slot behind that one."""
    period = _period_ns(state)
    late_ns = at.mono_ns - (slot_mono_ns + 2 * period)
    return slot_mono_ns + period if late_ns <= period else at.mono_ns - period


def _period_ns(state: Session) -> int:
    return state.abilities.unit_ms * 1_000_000
