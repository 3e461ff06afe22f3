"""Absence: a stage whose process has gone, and which is being started again.

The session lives. What was being answered ends as failed, unless the model had not begun to speak: then it is
asked again like everything else that is outstanding, as soon as the stage is back. A unit under way is rolled
back, its input comes first again. What was generated before is still heard, and input that comes meanwhile
waits. A call outside is never repeated: it has failed.

A stage that stays away for AWAY_S is lost for good (life.py). So is one that is there and does not take the
session in (patience.py), which is asked at the beginning, by each writer, and when the stage is back.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events.ids import Operation
from antiphon.events.units import SECOND_NS, Moment
from antiphon.events.vocabulary import (
    EffectFailed,
    Event,
    ResponseEnded,
    SessionOpened,
    StageAway,
    StageLost,
    StageOpened,
    StageRefused,
    StageReleased,
    StageReturned,
    UnitRefused,
    WriterOpened,
)

from .answers import has_spoken
from .state import STAGE_LOST, Session

AWAY_S = 300
MESSAGE = "the model's process has ended and is being started again"


def due_ns(state: Session) -> int | None:
    """When a stage that is away will have been for too long."""
    if not state.away:
        return None
    return min((since + AWAY_S * SECOND_NS for _, since in state.away), default=None)


def give_up(state: Session, at: Moment) -> list[Event]:
    return [
        StageLost(stage=stage, reason=f"it did not come back within {AWAY_S} s")
        for stage, since in state.away
        if at.mono_ns >= since + AWAY_S * SECOND_NS
    ]


def interrupt(state: Session, event: StageAway, at: Moment) -> list[Event]:
    """What ends because a stage went in the middle of it."""
    if event.stage != "model" or state.phase != "open":
        return []
    active, flight = state.turns.active, state.units.flight
    events = [] if flight is None else [_refused(flight.operation)]
    if active is None or not (active.operation is None or active.started or has_spoken(state, active)):
        return events
    if active.operation is not None:
        events.append(_refused(active.operation))
    if active.operation is not None and active.started:
        events.append(EffectFailed(operation=active.operation, code=STAGE_LOST, message=MESSAGE))
    ended = ResponseEnded(response=active.response, outcome="failed", reason=STAGE_LOST, message=MESSAGE)
    return [*events, ended]


def _refused(operation: Operation) -> Event:
    return UnitRefused(operation=operation, code=STAGE_LOST, message=MESSAGE, retryable=True)


def fold_opening(state: Session, event: Event, at: Moment) -> Session:
    """Which stages have been asked to take the session in."""
    match event:
        case SessionOpened() | WriterOpened():
            return replace(state, opening=tuple((stage, at.mono_ns) for stage in sorted(state.holding)))
        case StageReturned(stage=stage):
            return replace(state, opening=(*state.opening, (stage, at.mono_ns)))
        case StageOpened(stage=stage) | StageRefused(stage=stage) | StageReleased(stage=stage):
            return _answered(state, stage)
        case StageAway(stage=stage) | StageLost(stage=stage):
            return _answered(state, stage)
        case _:
            return state


def _answered(state: Session, stage: str) -> Session:
    return replace(state, opening=tuple(one for one in state.opening if one[0] != stage))


def fold(state: Session, event: Event, at: Moment) -> Session:
    match event:
        case StageAway(stage=stage):
            away = (*(one for one in state.away if one[0] != stage), (stage, at.mono_ns))
            return replace(state, away=away, holding=state.holding - {stage})
        case StageReturned(stage=stage):
            left = tuple(one for one in state.away if one[0] != stage)
            back = replace(state, away=left, holding=state.holding | {stage})
            return _asked_now(back, at) if stage == "model" else back
        case StageLost(stage=stage):
            return replace(state, away=tuple(one for one in state.away if one[0] != stage))
        case WriterOpened() if state.away:  # it opens every stage that the session needs
            holding = state.holding | {stage for stage, _ in state.away}
            return replace(state, away=(), holding=holding)
        case _:
            return state


def _asked_now(state: Session, at: Moment) -> Session:
    """Everything outstanding is asked again at this moment."""
    now = at.mono_ns
    again = tuple(replace(one, asked_mono_ns=now) for one in state.input.recognitions)
    proposals = tuple(replace(one, asked_mono_ns=now) for one in state.proposals)
    active = state.turns.active
    if active is not None:
        state = replace(state, turns=replace(state.turns, active=replace(active, moved_mono_ns=now)))
    return replace(state, input=replace(state.input, recognitions=again), proposals=proposals)
