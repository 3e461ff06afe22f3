"""The fence: which moment the session is in, and how it moves on.

Cancelling is a fact before it is an act: EpochAdvanced stands in the log before anybody is told, and from
then on whatever still arrives with an earlier epoch is void. The epoch never goes back. `turn` rises with
every exchange; the response is part of the fence while one is being generated.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events.ids import Fence
from antiphon.events.units import Moment
from antiphon.events.vocabulary import (
    EpochAdvanced,
    Event,
    ResponseCreated,
    ResponseEnded,
    SessionOpened,
    SpeechStarted,
    WriterOpened,
)

from .commands import CancelResponse
from .heard import is_playing
from .refusals import NotSpeaking
from .state import Session


def advance(state: Session, reason: str) -> EpochAdvanced:
    """Void everything of the current epoch."""
    return EpochAdvanced(cancelled=state.fence, next=state.following_fence, reason=reason)


def cancel_response(state: Session, command: CancelResponse, at: Moment) -> list[Event]:
    active = state.turns.active
    if active is None:
        raise NotSpeaking("no response is being generated")
    if command.response not in (None, active.response):
        raise NotSpeaking(f"response {command.response} is not being generated, {active.response} is")
    return [
        advance(state, "client_cancelled"),
        ResponseEnded(response=active.response, outcome="cancelled", reason="client_cancelled"),
    ]


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
