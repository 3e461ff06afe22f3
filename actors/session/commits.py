"""Commits: what becomes of the open input when the client, or the end of speech, says that it is over.

    nothing there                            refused; so is a commit behind a unit that failed
    nothing was said                         `silence`: not an entry, not given to anybody; the model listens
    a short word over an answer              `acknowledgement`: not an entry, nothing comes of it
    more than that over an answer            `deferred`: answered once that answer has ended by itself
    an answer is wanted, and nobody speaks   `asked`
    none is wanted                           `kept` until somebody asks

An answer is wanted if the commit says so, or else if the session answers by itself (`auto_response`). Nothing
can be deferred, nor be a mere acknowledgement, where input streams: the model has heard it already, and
decides for itself. Overlaps count only where they are decided (`config.overlap`). A commit takes the last
five minutes at most: a microphone may stay open for hours between two commits.

A commit that is not `final` makes an item, and nothing else comes of it: the user's turn goes on. A model
that hears as he speaks is given all of it now, one that is asked gets it together with what follows.
"""

from __future__ import annotations

from antiphon.events.ids import ItemId
from antiphon.events.units import SAMPLE_RATE, Moment, Samples, ms_to_samples, samples_to_ms
from antiphon.events.vocabulary import (
    CommandRefused,
    CommitOutcome,
    Event,
    InputCleared,
    InputCommitted,
    ModelListened,
    SpeechStopped,
)

from .commands import CommitInput
from .refusals import Backpressure, CommitAborted, ItemExists, NothingToCommit
from .state import LONGEST_UTTERANCE, NOT_SAID, Session

SHORTEST_COMMIT = ms_to_samples(100)


def commit_input(state: Session, command: CommitInput, at: Moment) -> list[Event]:
    buffer, voice = state.buffer, state.voice
    if command.item is not None and state.entry(command.item) is not None:
        return _taken(state, command)
    _check(state, command)
    outcome = _outcome(state, command)
    waiting = len(state.turns.deferred)
    if outcome == "deferred" and waiting >= state.lease.terms.pending_turns:
        raise Backpressure(f"{waiting} items wait already for the answer to end")
    item = command.item or voice.speaking or ItemId(state.new_id("item"))
    began = buffer.open_from if voice.speaking is None else voice.item_from
    committed = InputCommitted(
        item=item,
        from_sample=Samples(max(began, buffer.appended - LONGEST_UTTERANCE)),
        until_sample=Samples(buffer.appended),
        by="client",
        previous=state.last_item,
        outcome=outcome,
        client_event=command.client_event if state.abilities.unit_ms else None,
        final=command.final,
        turn=_turn(state, outcome),
    )
    return [committed, ModelListened(reason="silence_or_noise")] if outcome == "silence" else [committed]


def _taken(state: Session, command: CommitInput) -> list[Event]:
    """An item of that name is there. The audio was sent for this one alone: the next must not get it."""
    refused = CommandRefused(
        code=ItemExists.code,
        message=f"an item {command.item} is already there",
        attachment=state.attached.current,
        parameter="item.id",
        client_event=command.client_event,
    )
    return [refused, InputCleared(until_sample=Samples(state.buffer.appended))]


def _turn(state: Session, outcome: CommitOutcome) -> int | None:
    """That of the answer to it: where input streams it was fixed with its first word, else those that wait
    already are answered before."""
    if outcome in NOT_SAID:
        return None
    if state.streams:
        return state.buffer.turn or state.fence.turn + 1
    return state.fence.turn + 1 + len(state.turns.deferred)


def _check(state: Session, command: CommitInput) -> None:
    there = state.buffer.appended - state.buffer.open_from
    if command.any_length:
        if not there:
            raise NothingToCommit("there is no uncommitted audio")
    elif there < SHORTEST_COMMIT:
        held = there * 1000 // SAMPLE_RATE
        raise NothingToCommit(f"buffer too small: at least 100 ms of audio are needed, {held} ms are there")
    if state.units.broken:
        raise CommitAborted("input before the commit did not reach the stage: say more, or clear it")


def _outcome(state: Session, command: CommitInput) -> CommitOutcome:
    active, overlap, said = state.turns.active, state.config.overlap, state.verdicts
    if command.speech is False or (command.speech is None and said.silence and not said.speech):
        return "silence"
    if not command.final:
        return "kept"
    if active is not None and overlap is not None and not state.streams:
        if said.over_ms and max(said.over_ms, samples_to_ms(said.speech)) <= overlap.short_ack_ms:
            return "acknowledgement"
        if command.respond is not False and (said.over_ms or command.respond or state.config.auto_response):
            return "deferred"
    wanted = state.config.auto_response if command.respond is None else command.respond
    return "asked" if wanted and (active is None or state.streams) else "kept"


def commit_speech(state: Session, event: SpeechStopped, at: Moment) -> list[Event]:
    """The end of speech commits what was said; where answers come by themselves it is only reported."""
    if state.streams and state.config.auto_response:
        return []
    return [
        InputCommitted(
            item=event.item,
            from_sample=Samples(state.voice.item_from),
            until_sample=event.until_sample,
            by="voice",
            previous=state.last_item,
            turn=_turn(state, "kept"),
        )
    ]
