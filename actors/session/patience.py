"""Patience: how long a stage may be silent before the session goes on without it.

A session that its model does not take in fails. A recogniser that does not answer leaves its item without
text, and a model that neither begins its answer nor goes on with it has failed it: the epoch moves, so that
what it says later is void, and the client gets its end. So it is with a unit, whose input is kept. Of a stage
that does not settle a configuration nobody knows by which one it runs: the session fails. No client waits for
ever because a stage hangs. One that is away is not silent (absence.py).
"""

from __future__ import annotations

from antiphon.events.units import SECOND_NS, Moment
from antiphon.events.vocabulary import (
    EffectFailed,
    EpochAdvanced,
    Event,
    ResponseEnded,
    SessionFailed,
    StageRefused,
    UnitRefused,
)

from .answers import failed_unit
from .state import Session

OPEN_S = 30
RECOGNISE_S = 30
UNIT_S = 30
CONFIGURE_S = 60
ANSWER_S = 120
CODE = "stage_timeout"


def due_ns(state: Session) -> int | None:
    """When the stage that has been silent for longest is overdue."""
    dues = [since + OPEN_S * SECOND_NS for _, since in state.opening]
    if state.away and any(stage == "model" for stage, _ in state.away):
        return min(dues, default=None)
    dues += [r.asked_mono_ns + RECOGNISE_S * SECOND_NS for r in state.input.recognitions if r.text is None]
    active, flight = state.turns.active, state.units.flight
    if flight is not None:
        dues.append(flight.asked_mono_ns + UNIT_S * SECOND_NS)
    if state.proposals and state.proposals[0].operation is not None:
        dues.append(state.proposals[0].asked_mono_ns + CONFIGURE_S * SECOND_NS)
    if active is not None and active.operation is not None:
        dues.append(active.moved_mono_ns + ANSWER_S * SECOND_NS)
    return min(dues, default=None)


def go_on(state: Session, at: Moment) -> list[Event]:
    """Give up what is overdue."""
    unopened = _unopened(state, at)
    if unopened:
        return unopened
    asked = state.proposals[0] if state.proposals else None
    if asked and asked.operation is not None and at.mono_ns >= asked.asked_mono_ns + CONFIGURE_S * SECOND_NS:
        return [SessionFailed(code=CODE, message="the model did not settle a configuration")]
    late = f"the recogniser did not answer within {RECOGNISE_S} s"
    events: list[Event] = [
        UnitRefused(operation=r.operation, code=CODE, message=late, retryable=True)
        for r in state.input.recognitions
        if r.text is None and at.mono_ns >= r.asked_mono_ns + RECOGNISE_S * SECOND_NS
    ]
    events += _unit_given_up(state, at)
    active = state.turns.active
    if active is None or active.operation is None:
        return events
    if at.mono_ns < active.moved_mono_ns + ANSWER_S * SECOND_NS:
        return events
    silent = f"the model said nothing for {ANSWER_S} s"
    events.append(EpochAdvanced(cancelled=state.fence, next=state.following_fence, reason=CODE))
    if active.started:
        events.append(EffectFailed(operation=active.operation, code=CODE, message=silent))
    return [
        *events,
        ResponseEnded(response=active.response, outcome="failed", reason=CODE, message=silent),
    ]


def _unopened(state: Session, at: Moment) -> list[Event]:
    """A session that its model does not take in has none; one without a detector can do without."""
    late = [stage for stage, since in state.opening if at.mono_ns >= since + OPEN_S * SECOND_NS]
    told = f"it did not take the session in within {OPEN_S} s"
    if "model" in late:
        return [SessionFailed(code=CODE, message=f"the model is hanging: {told}")]
    return [StageRefused(stage=stage, code=CODE, message=told, retryable=True) for stage in late]


def _unit_given_up(state: Session, at: Moment) -> list[Event]:
    flight = state.units.flight
    if flight is None or at.mono_ns < flight.asked_mono_ns + UNIT_S * SECOND_NS:
        return []
    lost = failed_unit(
        state, flight.operation, CODE, f"the model said nothing for {UNIT_S} s", retryable=True
    )
    return [EpochAdvanced(cancelled=state.fence, next=state.following_fence, reason=CODE), *lost]
