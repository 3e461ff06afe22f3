"""What the model stage says of what it was asked: each word once, in its place, and void words dropped.

An output is known by its operation and its index. What a stage says of a void epoch is a fact, not a mistake:
StageOutputDropped. What the log already holds, said again after a takeover, is nothing. The first words of a
model that hears continuously, or its first call of a function, create its response.
"""

from __future__ import annotations

from antiphon.events.envelope import Draft
from antiphon.events.ids import ItemId, ResponseId
from antiphon.events.units import Millis, Moment, Samples, ms_to_samples
from antiphon.events.vocabulary import (
    AnswerRouted,
    AudioSpoken,
    Event,
    ModelListened,
    ResponseCreated,
    StageMeasured,
    TextSpoken,
    ToolCalled,
)

from .answers import created, nothing_new, unit_done
from .commands import CreateResponse, RecordCall, RecordMeasure, RecordRoute, RecordSpeech
from .state import Session

PIECE = ms_to_samples(200)
"""Audio is stored and sent in pieces of at most this length, so that a barge-in takes back the rest."""


def record_speech(state: Session, command: RecordSpeech, at: Moment) -> list[Event | Draft]:
    known = nothing_new(state, command)
    if known is not None:
        return list(known)
    done = unit_done(state, command) if state.abilities.unit_ms else []
    if done and not command.text and not command.pcm:
        return list(done)
    events: list[Event | Draft] = []
    active = state.turns.active
    if active is None:
        begun = created(state, CreateResponse(), asked=False)
        events.append(begun)
        response, spoken, modalities = begun.response, 0, begun.modalities
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
    if not events and not done and state.abilities.hears == "continuously":
        return [ModelListened(operation=command.operation)]  # its piece of input is answered all the same
    return [*events, *done] if done else events


def _pieces(pcm: bytes) -> list[bytes]:
    """Cut into pieces of at most PIECE samples and at most 24 of them: one step stays one short batch."""
    size = 2 * max(PIECE, -(-len(pcm) // 48))
    if len(pcm) <= size:
        return [pcm] if pcm else []
    return [pcm[start : start + size] for start in range(0, len(pcm), size)]


def record_call(state: Session, command: RecordCall, at: Moment) -> list[Event]:
    """A call stands behind the words of its answer, or behind the call before it."""
    known = nothing_new(state, command)
    if known is not None:
        return known
    active = state.turns.active
    begun = [] if active is not None else [created(state, CreateResponse(), asked=False)]
    response, previous = _behind(state, begun)
    called = ToolCalled(
        response=response,
        item=ItemId(state.new_id("item", 2)),
        call_id=command.call_id,
        name=command.name,
        arguments=command.arguments,
        operation=command.operation,
        index=command.index,
        previous=previous,
    )
    return [*begun, called, *unit_done(state, command)]


def _behind(state: Session, begun: list[ResponseCreated]) -> tuple[ResponseId, ItemId]:
    active = state.turns.active
    if active is None:
        return begun[0].response, begun[0].item
    return active.response, active.calls[-1] if active.calls else active.item


def record_route(state: Session, command: RecordRoute, at: Moment) -> list[Event]:
    active = state.turns.active
    known = nothing_new(state, command)
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
    if not recognising and nothing_new(state, command) is not None:
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
