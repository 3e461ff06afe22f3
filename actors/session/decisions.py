"""What ends: a piece that was only listened to, an answer, an operation that failed, the model's own turn.

An answer that was asked for ends when the stage says so. One that the model began, or that is made of units,
ends when the model ends its turn, or when it goes back to listening after it has spoken. A stage that fails
at a unit fails whatever waits for it.
"""

from __future__ import annotations

from antiphon.events.units import Moment
from antiphon.events.vocabulary import (
    EffectFailed,
    Event,
    ModelListened,
    ResponseEnded,
    TurnEnded,
    UnitCompleted,
    UnitRefused,
    Usage,
)

from .answers import failed_unit, has_spoken, is_input, nothing_new, unit_done
from .commands import RecordConsumed, RecordFailure, RecordFinish, RecordTurnEnd, StageWord
from .state import Active, Session

NO_DECISION = "buffering"
WITHOUT_OUTPUT = "turn_completed_without_output"


def record_consumed(state: Session, command: RecordConsumed, at: Moment) -> list[Event]:
    if state.abilities.hears != "continuously":
        return []
    known = nothing_new(state, command)
    if known is not None:
        return known
    active = _made_of_units(state) if state.abilities.unit_ms else None
    listening = command.reason != NO_DECISION and active is not None and has_spoken(state, active)
    if not listening or active is None:
        listened = ModelListened(operation=command.operation, index=command.index, reason=command.reason)
        return [listened, *unit_done(state, command)]
    return [
        ModelListened(
            operation=command.operation,
            index=command.index,
            reason=command.reason,
            response=active.response,
        ),
        *unit_done(state, command),
        ResponseEnded(response=active.response, outcome="completed"),
    ]


def record_turn_end(state: Session, command: RecordTurnEnd, at: Moment) -> list[Event]:
    """The model's turn, wherever commits and answers stand. It ends the answer that came by itself."""
    if state.abilities.hears != "continuously":
        return []
    known = nothing_new(state, command)
    if known is not None:
        return known
    ended = TurnEnded(turn=state.turns.ended, operation=command.operation, index=command.index)
    active = _made_of_units(state)
    if active is None:
        return [ended, *unit_done(state, command)]
    mute = [] if has_spoken(state, active) else [_said_nothing(active)]
    done = ResponseEnded(response=active.response, outcome="completed")
    return [ended, *unit_done(state, command), *mute, done]


def _made_of_units(state: Session) -> Active | None:
    """The answer under way, if it is not the stage's to say when it is complete."""
    active = state.turns.active
    return active if active is not None and active.operation is None else None


def _said_nothing(active: Active) -> ModelListened:
    return ModelListened(reason=WITHOUT_OUTPUT, response=active.response)


def record_finish(state: Session, command: RecordFinish, at: Moment) -> list[Event]:
    active = state.turns.active
    known = nothing_new(state, command)
    if known is not None:
        return known
    done: list[Event] = [UnitCompleted(operation=command.operation, tokens=command.tokens)]
    if active is None or unit_done(state, command):
        return done
    # An answer that was asked for ends by itself, one that the model began ends with the user's turn.
    ends = _is_ending(state, command) if active.operation is None else command.operation == active.operation
    if not ends:
        return done
    cut = command.why == "length"
    ended = ResponseEnded(
        response=active.response,
        outcome="incomplete" if cut else "completed",
        reason="max_output_tokens" if cut else None,
        usage=Usage(
            input_tokens=command.input_tokens,
            output_tokens=command.output_tokens,
            cached_tokens=command.cached_tokens,
        ),
    )
    return [*done, ended]


def record_failure(state: Session, command: RecordFailure, at: Moment) -> list[Event]:
    """An operation failed: a recognition leaves its item without text, an answer ends as failed."""
    active = state.turns.active
    lost = failed_unit(state, command.operation, command.code, command.message, retryable=command.retryable)
    if lost:
        return lost
    refused = UnitRefused(
        operation=command.operation,
        code=command.code,
        message=command.message,
        retryable=command.retryable,
    )
    known = state.input.recognitions
    recognising = any(r.operation == command.operation and r.text is None for r in known)
    if active is not None and active.operation == command.operation:
        failed = ResponseEnded(
            response=active.response, outcome="failed", reason=command.code, message=command.message
        )
        if active.started:
            outside = EffectFailed(operation=command.operation, code=command.code, message=command.message)
            return [refused, outside, failed]
        return [refused, failed]
    owed = recognising or _is_ending(state, command) or is_input(state, command.operation)
    return [refused] if owed else []


def _is_ending(state: Session, word: StageWord) -> bool:
    return any(ending.operation == word.operation for ending in state.turns.endings)
