"""How an answer begins, what is news, and what a failed unit takes with it: what several ideas need to know.

A view like heard.py: it reads the state and decides nothing.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events.ids import ItemId, Operation, ResponseId
from antiphon.events.vocabulary import (
    CommandRefused,
    ConfigRefused,
    Event,
    Item,
    ResponseCreated,
    ResponseEnded,
    StageOutputDropped,
    UnitCompleted,
    UnitRefused,
)

from .commands import CreateResponse, StageWord
from .refusals import CommitAborted, UpdateAborted
from .state import Active, Proposal, Session


def created(
    state: Session, options: CreateResponse, *, asked: bool = True, answers: ItemId | None = None
) -> ResponseCreated:
    """The beginning of an answer: at the conversation's end, or right behind the item that it `answers`."""
    response = ResponseId(state.new_id("resp"))
    fence = replace(state.fence, turn=state.fence.turn + 1, response=response)
    return ResponseCreated(
        response=response,
        item=ItemId(state.new_id("item", 1)),
        fence=fence,
        previous=answers or state.last_item,
        modalities=(options.modalities or state.config.output_modalities)
        if state.abilities.speaks
        else ("text",),
        instructions=options.instructions,
        max_output_tokens=options.max_output_tokens or state.config.max_output_tokens,
        metadata=options.metadata,
        in_history=options.in_history,
        asked=asked,
        voice=options.voice,
        temperature=options.temperature,
        speed=options.speed,
        audio_format=options.audio_format,
        answers=answers,
    )


def is_input(state: Session, operation: Operation) -> bool:
    """Whether a stage that is given every piece of input still owes something for that one."""
    if any(recognition.operation == operation for recognition in state.input.recognitions):
        return False
    in_pieces = state.abilities.hears == "continuously" and not state.abilities.unit_ms
    return in_pieces and state.turns.listened < operation <= state.buffer.submitted


def unanswered(state: Session) -> list[Item]:
    """What was said, written or returned since the last answer that is part of the conversation."""
    asked: list[Item] = []
    for entry in reversed(state.entries):
        if entry.response is not None and entry.shared:
            break
        if entry.item.role == "user" or entry.item.kind == "function_call_output":
            asked.append(entry.item)
    return asked


def has_spoken(state: Session, active: Active) -> bool:
    played = state.playback(active.response)
    return bool(active.calls) or (played is not None and bool(played.marks or played.generated))


# --- news -------------------------------------------------------------------------------------------------


def nothing_new(state: Session, word: StageWord) -> list[Event] | None:
    """What a word amounts to that is void or known: a dropped output, or nothing. None: it is news."""
    active, turns = state.turns.active, state.turns
    if word.epoch != state.fence.epoch:
        return [_dropped(word)]
    if active is not None and active.operation == word.operation:
        return [] if word.index < active.next_index else None
    if word.operation in turns.answered:
        return []
    if state.abilities.unit_ms:
        flight = state.units.flight
        if flight is None or flight.operation != word.operation:  # it has ended: they do so in order
            return []
        return [] if word.index < flight.next_index else None
    if state.abilities.hears == "utterances":  # only the answer under way can say anything new
        earlier = bool(turns.answered) and word.operation < turns.answered[-1]
        return [] if earlier else [_dropped(word)]
    for ending in turns.endings:
        if ending.operation == word.operation:
            return [] if word.index < ending.next_index else None
    return [] if (word.operation, word.index) < (turns.listened, turns.listened_index) else None


def _dropped(word: StageWord) -> StageOutputDropped:
    return StageOutputDropped(operation=word.operation, index=word.index, epoch=word.epoch)


# --- units ------------------------------------------------------------------------------------------------


def unit_done(state: Session, word: StageWord) -> list[Event]:
    """The last word of the unit that the stage has is its end."""
    flight = state.units.flight
    ends = word.last and flight is not None and flight.operation == word.operation
    return [UnitCompleted(operation=word.operation, tokens=word.tokens)] if ends else []


def failed_unit(
    state: Session, operation: Operation, code: str, message: str, *, retryable: bool = False
) -> list[Event]:
    """What it means that the stage did not take a unit: commits and updates that waited for it fail, and so
    does the answer that is made of units. Nothing if it is not the unit that the stage was given last."""
    units, active = state.units, state.turns.active
    lost = next((unit for unit in (units.flight, units.void) if unit and unit.operation == operation), None)
    if lost is None:
        return []
    refused = UnitRefused(operation=operation, code=code, message=message, retryable=retryable)
    events: list[Event] = [refused, *_commits_aborted(state), *updates_aborted(state.proposals)]
    if lost is units.flight and active is not None and active.operation is None:
        events.append(ResponseEnded(response=active.response, outcome="failed", reason=code, message=message))
    return events


def _commits_aborted(state: Session) -> list[Event]:
    return [
        CommandRefused(
            code=CommitAborted.code,
            message=f"input before item {held.item} did not reach the stage",
            attachment=state.attached.current,
            client_event=held.client_event,
        )
        for held in state.units.held
        if held.due and state.streams  # else the answer that was asked for says so
    ]


def updates_aborted(waiting: tuple[Proposal, ...]) -> list[Event]:
    """Updates that come to nothing because what they waited for failed."""
    return [
        ConfigRefused(
            code=UpdateAborted.code,
            message="what the update waited for failed",
            client_event=proposal.client_event,
            generation=proposal.generation,
        )
        for proposal in waiting
        if proposal.operation is None
    ]
