"""The fence: which moment the session is in, and how it moves on.

Cancelling is a fact before it is an act: EpochAdvanced stands in the log before anybody is told, and from
then on whatever still arrives with an earlier epoch is void. The epoch never goes back. `turn` rises with
every exchange; the response is part of the fence while one is being generated.

A client names a response or nothing; both fences of a cancel are made here, from the state at its place in
the order of things. What was generated and still plays is cut off without an end of its own: it has ended.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events.ids import Fence
from antiphon.events.units import Moment, Samples
from antiphon.events.vocabulary import (
    EpochAdvanced,
    Event,
    InputCleared,
    OutputCleared,
    OverlapDecided,
    ResponseCreated,
    ResponseEnded,
    SessionOpened,
    SpeechStarted,
    WriterOpened,
)

from .commands import BargeIn, CancelInput, CancelResponse, ClearOutput
from .heard import is_playing
from .refusals import ItemNotFound, NotSpeaking, UnknownResponse
from .state import Session

CLEARED = "output_audio_buffer_clear"
INPUT_CANCELLED = "input_cancelled"
"""Why the epoch moves on when the client takes its input back."""
BROKE_IN = ("turn_detected", "barge_in")
"""Why it does where the user breaks in: server VAD heard it, or the client or its policy let the user in."""


def advance(state: Session, reason: str) -> EpochAdvanced:
    """Void everything of the current epoch."""
    return EpochAdvanced(cancelled=state.fence, next=state.following_fence, reason=reason)


def _cut_off(state: Session, why: str, told: str) -> list[Event]:
    """Stop what is being said, generated or only played. `told` is what the client hears as the reason."""
    active = state.turns.active
    if active is not None:
        ended = ResponseEnded(response=active.response, outcome="cancelled", reason=told)
        return [advance(state, why), ended]
    playing = [played for played in state.played[-2:] if is_playing(played)]
    return [advance(state, why), *(OutputCleared(response=played.response) for played in playing)]


def cancel_response(state: Session, command: CancelResponse, at: Moment) -> list[Event]:
    active = state.turns.active
    if active is None and command.if_any:
        return []
    if active is None:
        if command.response is not None and state.playback(command.response) is None:
            raise UnknownResponse(f"there is no response {command.response}", parameter="response_id")
        raise NotSpeaking("no response is being generated")
    if command.response not in (None, active.response):
        raise NotSpeaking(f"response {command.response} is not being generated, {active.response} is")
    return _cut_off(state, "client_cancelled", "client_cancelled")


def barge_in(state: Session, command: BargeIn, at: Moment) -> list[Event]:
    waits = state.buffer.appended > state.buffer.open_from or state.units.held or state.turns.deferred
    cleared = [InputCleared(until_sample=Samples(state.buffer.appended))] if waits else []
    return [*_cut_off(state, "barge_in", "barge_in"), *cleared]


def cancel_input(state: Session, command: CancelInput, at: Moment) -> list[Event]:
    return [
        *_cut_off(state, INPUT_CANCELLED, "client_cancelled"),
        InputCleared(until_sample=Samples(state.buffer.appended)),
    ]


def clear_output(state: Session, command: ClearOutput, at: Moment) -> list[Event]:
    """Of an answer that is being generated: cancel it. Of one that has ended only the audio goes."""
    active = state.turns.active
    latest = state.played[-1].response if state.played else None
    response = command.response or latest
    if response is None:
        return []
    if state.playback(response) is None:
        raise ItemNotFound(f"there is no response {response}", parameter="response_id")
    cleared = OutputCleared(response=response)
    if active is None or response != active.response:
        return [cleared]
    moved, ended = _cut_off(state, CLEARED, CLEARED)
    return [moved, cleared, ended]


def give_way(state: Session, event: OverlapDecided, at: Moment) -> list[Event]:
    """The user is let in. His words are not thrown away, they are the next input."""
    if event.action != "barge_in":
        return []
    reason = "turn_detected" if event.reason == "server_vad_speech_started" else "barge_in"
    return _cut_off(state, reason, reason)


def interrupt(state: Session, event: SpeechStarted, at: Moment) -> list[Event]:
    """The user began to speak: stop what is being said, unless the client asked us not to."""
    detection = state.config.turn_detection
    if detection is None or not detection.interrupt_response:
        return []
    active = state.turns.active
    if active is None:
        playing = any(is_playing(played) for played in state.played[-2:])
        return [advance(state, "turn_detected")] if playing else []
    return [
        advance(state, "turn_detected"),
        ResponseEnded(response=active.response, outcome="cancelled", reason="turn_detected"),
    ]


def void_interrupted(state: Session, event: WriterOpened, at: Moment) -> list[Event]:
    """A new writer finds an outside call under way, which will end as failed: nobody wants its words."""
    active = state.turns.active
    if active is None or not active.started:
        return []
    return [advance(state, "effect_interrupted")]


def fold(state: Session, event: Event, at: Moment) -> Session:
    match event:
        case SessionOpened(session=session, incarnation=incarnation):
            return replace(state, fence=Fence(session, incarnation, 0, 0, None))
        case EpochAdvanced(next=following):
            return replace(state, fence=following)
        case ResponseCreated(fence=fence):
            return replace(state, fence=fence)
        case ResponseEnded(response=response) if state.fence.response == response:
            return replace(state, fence=replace(state.fence, response=None))
        case _:
            return state
