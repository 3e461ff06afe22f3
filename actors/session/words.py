"""What the model stage says of what it was asked: each word once, in its place, and void words dropped.

An output is known by its operation and its index. What a stage says of a void epoch is a fact, not a mistake:
StageOutputDropped. What the log already holds, said again after a takeover, is nothing. The first words of a
model that hears continuously create its response.
"""

from __future__ import annotations

from antiphon.events.envelope import Draft
from antiphon.events.units import Millis, Moment, Samples, ms_to_samples
from antiphon.events.vocabulary import (
    AnswerRouted,
    AudioSpoken,
    EffectFailed,
    Event,
    ModelListened,
    ResponseEnded,
    StageMeasured,
    StageOutputDropped,
    TextSpoken,
    UnitCompleted,
    UnitRefused,
    Usage,
)

from . import answers
from .answers import is_input
from .commands import (
    CreateResponse,
    RecordConsumed,
    RecordFailure,
    RecordFinish,
    RecordMeasure,
    RecordRoute,
    RecordSpeech,
    StageWord,
)
from .state import Session

PIECE = ms_to_samples(200)
"""Audio is stored and sent in pieces of at most this length, so that a barge-in takes back the rest."""


def _nothing_new(state: Session, word: StageWord) -> list[Event] | None:
    """What a word amounts to that is void or known: a dropped output, or nothing. None: it is news."""
    active, turns = state.turns.active, state.turns
    if word.epoch != state.fence.epoch:
        return [_dropped(word)]
    if active is not None and active.operation == word.operation:
        return [] if word.index < active.next_index else None
    if word.operation in turns.answered:
        return []
    if state.abilities.hears == "utterances":  # only the answer under way can say anything new
        earlier = bool(turns.answered) and word.operation < turns.answered[-1]
        return [] if earlier else [_dropped(word)]
    for ending in turns.endings:
        if ending.operation == word.operation:
            return [] if word.index < ending.next_index else None
    return [] if (word.operation, word.index) < (turns.listened, turns.listened_index) else None


def _dropped(word: StageWord) -> StageOutputDropped:
    return StageOutputDropped(operation=word.operation, index=word.index, epoch=word.epoch)


def record_speech(state: Session, command: RecordSpeech, at: Moment) -> list[Event | Draft]:
    known = _nothing_new(state, command)
    if known is not None:
        return list(known)
    events: list[Event | Draft] = []
    active = state.turns.active
    if active is None:
        created = answers.created(state, CreateResponse(), asked=False)
        events.append(created)
        response, spoken, modalities = created.response, 0, created.modalities
    else:
        played = state.playback(active.response)
        spoken = 0 if played is None else played.generated
        response, modalities = active.response, active.modalities
    if command.text:
        events.append(
            TextSpoken(
                response=response,
                text=command.text,
                from_sample=Samples(spoken),
                operation=command.operation,
                index=command.index,
            )
        )
    for piece in _pieces(command.pcm if "audio" in modalities else b""):
        spoken += len(piece) // 2
        audio = AudioSpoken(
            response=response,
            samples=Samples(len(piece) // 2),
            until_sample=Samples(spoken),
            operation=command.operation,
            index=command.index,
        )
        events.append(Draft(event=audio, at=at, blob=piece))
    if not events and state.abilities.hears == "continuously":  # its piece of input is answered all the same
        return [ModelListened(operation=command.operation)]
    return events


def _pieces(pcm: bytes) -> list[bytes]:
    """Cut into pieces of at most PIECE samples and at most 24 of them: one step stays one short batch."""
    size = 2 * max(PIECE, -(-len(pcm) // 48))
    if len(pcm) <= size:
        return [pcm] if pcm else []
    return [pcm[start : start + size] for start in range(0, len(pcm), size)]


def record_consumed(state: Session, command: RecordConsumed, at: Moment) -> list[Event]:
    if state.abilities.hears != "continuously":
        return []
    known = _nothing_new(state, command)
    return [ModelListened(operation=command.operation)] if known is None else known


def record_route(state: Session, command: RecordRoute, at: Moment) -> list[Event]:
    active = state.turns.active
    known = _nothing_new(state, command)
    if known is not None or active is None:
        return known or []
    return [
        AnswerRouted(
            response=active.response,
            route=command.route,
            operation=command.operation,
            index=command.index,
        )
    ]


def record_measure(state: Session, command: RecordMeasure, at: Moment) -> list[Event]:
    recognising = any(r.operation == command.operation for r in state.input.recognitions)
    if not recognising and _nothing_new(state, command) is not None:
        return []
    return [
        StageMeasured(
            operation=command.operation,
            index=command.index,
            name=command.name,
            value_ms=Millis(command.value_ms),
            each_us=command.each_us,
        )
    ]


def record_finish(state: Session, command: RecordFinish, at: Moment) -> list[Event]:
    active = state.turns.active
    known = _nothing_new(state, command)
    if known is not None:
        return known
    done: list[Event] = [UnitCompleted(operation=command.operation)]
    if active is None:
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
    refused = UnitRefused(
        operation=command.operation,
        code=command.code,
        message=command.message,
        retryable=command.retryable,
    )
    recognising = any(r.operation == command.operation for r in state.input.recognitions)
    if active is not None and active.operation == command.operation:
        failed = ResponseEnded(
            response=active.response, outcome="failed", reason=command.code, message=command.message
        )
        if active.started:
            outside = EffectFailed(operation=command.operation, code=command.code, message=command.message)
            return [refused, outside, failed]
        return [refused, failed]
    known = recognising or _is_ending(state, command) or is_input(state, command.operation)
    return [refused] if known else []


def _is_ending(state: Session, word: StageWord) -> bool:
    return any(ending.operation == word.operation for ending in state.turns.endings)
