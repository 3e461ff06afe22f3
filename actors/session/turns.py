"""Turns: who speaks, and how an answer begins, goes on and ends.

One response is generated at a time. A model that hears utterances is asked (UnitSubmitted "speak") once the
text of every committed item is there; a model that hears continuously speaks by itself, and its first words
create the response. Under server VAD the end of the user's speech creates the response; if one is still
being generated (the client asked us not to interrupt), an answer is owed and created when that one ends.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events.ids import Operation
from antiphon.events.units import Moment
from antiphon.events.vocabulary import (
    AnswerRouted,
    AudioSpoken,
    EffectFailed,
    EffectStarted,
    EpochAdvanced,
    Event,
    InputCommitted,
    InputTranscribed,
    ModelListened,
    ResponseCreated,
    ResponseEnded,
    StageMeasured,
    StageOutputDropped,
    TextSpoken,
    UnitCompleted,
    UnitRefused,
    UnitSubmitted,
    WriterOpened,
)

from .answers import created, is_input
from .commands import CreateResponse
from .refusals import ActiveResponse
from .state import Active, Ending, Session, Turns

REMEMBERED = 7
"""Finished answers, beside the latest, whose words are known when they are said again."""


def create_response(state: Session, command: CreateResponse, at: Moment) -> list[Event]:
    if state.turns.active is not None:
        raise ActiveResponse(f"response {state.turns.active.response} is still being generated")
    return [created(state, command)]


def answer_speech(state: Session, event: InputCommitted, at: Moment) -> list[Event]:
    """The end of the user's speech asks for an answer, if the session wants that."""
    detection = state.config.turn_detection
    wanted = event.by == "voice" and detection is not None and detection.create_response
    if not wanted or state.turns.active is not None or state.abilities.hears == "continuously":
        return []  # an answer that is owed is counted by the fold
    return [created(state, CreateResponse())]


def ask_model(state: Session, event: ResponseCreated | InputTranscribed, at: Moment) -> list[Event]:
    """Ask for the answer as soon as everything the user said has been understood."""
    active = state.turns.active
    if active is None or active.operation is not None or state.input.untranscribed:
        return []
    if isinstance(event, ResponseCreated) and not event.asked:
        return []
    return [UnitSubmitted(work="speak", fence=state.fence, response=active.response)]


def start_effect(state: Session, event: UnitSubmitted, at: Moment) -> list[Event]:
    """An answer that calls something outside is announced before it runs."""
    if event.work != "speak" or not state.abilities.must_not_repeat:
        return []
    return [EffectStarted(operation=Operation(state.seq - 1), effect="answer")]


def fail_interrupted(state: Session, event: WriterOpened, at: Moment) -> list[Event]:
    """A new writer finds an outside call under way: it ends as failed, never silently again."""
    active = state.turns.active
    if active is None or not active.started or active.operation is None:
        return []
    message = "the server was interrupted while an external model was answering"
    return [
        EffectFailed(operation=active.operation, code="effect_interrupted", message=message),
        ResponseEnded(
            response=active.response, outcome="failed", reason="effect_interrupted", message=message
        ),
    ]


def answer_owed(state: Session, event: ResponseEnded, at: Moment) -> list[Event]:
    if not state.turns.owed or event.reason in ("session_closed", "turn_detected"):
        return []  # a user who breaks in is answered once he has finished
    return [created(state, CreateResponse())]


# --- the fold ---------------------------------------------------------------------------------------------


def fold(state: Session, event: Event, at: Moment) -> Session:
    turns = state.turns
    match event:
        case ResponseCreated(response=response, item=item, fence=fence, modalities=modalities):
            active = Active(response, item, fence, modalities, event.instructions, event.max_output_tokens)
            return replace(state, turns=replace(turns, active=active, owed=False))
        case ResponseEnded(response=response) if turns.active and turns.active.response == response:
            return replace(state, turns=replace(turns, active=None))
        case InputCommitted(by="voice") if turns.active is not None and _wants_answer(state):
            return replace(state, turns=replace(turns, owed=True))
        case UnitSubmitted(work="speak") if turns.active is not None:
            asked = replace(turns.active, operation=Operation(state.seq), moved_mono_ns=at.mono_ns)
            return replace(state, turns=replace(turns, active=asked))
        case EffectStarted(operation=operation) if turns.active is not None:
            return replace(state, turns=replace(turns, active=replace(turns.active, started=True)))
        case UnitSubmitted(work="turn"):
            endings = (*turns.endings, Ending(Operation(state.seq)))
            return replace(state, turns=replace(turns, endings=endings))
        case UnitCompleted(operation=operation) | UnitRefused(operation=operation):
            finished = _finished(state, operation)
            if isinstance(event, UnitRefused) and finished is turns and is_input(state, operation):
                finished = _advanced(turns, operation, 0, at)
            return replace(state, turns=finished)
        case WriterOpened(boot=boot) if boot != state.boot and turns.active is not None:
            return replace(
                state, turns=replace(turns, active=replace(turns.active, moved_mono_ns=at.mono_ns))
            )
        case EpochAdvanced() if state.abilities.hears == "continuously":
            # What was asked before is void at the stage, too: it will not be answered.
            heard = max((turns.listened, turns.listened_index), (state.buffer.submitted, 0))
            void = replace(turns, endings=(), listened=heard[0], listened_index=heard[1])
            return replace(state, turns=void)
        case _:
            return state


def fold_outputs(state: Session, event: Event, at: Moment) -> Session:
    """Which stage outputs the log already holds."""
    match event:
        case (
            TextSpoken(operation=operation, index=index)
            | AudioSpoken(operation=operation, index=index)
            | AnswerRouted(operation=operation, index=index)
            | StageMeasured(operation=operation, index=index)
            | StageOutputDropped(operation=operation, index=index)
        ):
            return replace(state, turns=_advanced(state.turns, operation, index, at))
        case ModelListened(operation=operation) if operation is not None:
            return replace(state, turns=_advanced(state.turns, operation, 0, at))
        case _:
            return state


def _advanced(turns: Turns, operation: Operation, index: int, at: Moment) -> Turns:
    active = turns.active
    if active is not None and active.operation == operation:
        next_index = max(active.next_index, index + 1)
        return replace(turns, active=replace(active, next_index=next_index, moved_mono_ns=at.mono_ns))
    if turns.endings and any(ending.operation == operation for ending in turns.endings):
        moved = tuple(
            replace(ending, next_index=max(ending.next_index, index + 1))
            if ending.operation == operation
            else ending
            for ending in turns.endings
        )
        return replace(turns, endings=moved)
    if (operation, index) < (turns.listened, turns.listened_index):
        return turns
    return replace(turns, listened=operation, listened_index=index + 1)


def _finished(state: Session, operation: Operation) -> Turns:
    """An operation has had its last output. Recognitions are none of ours."""
    turns = state.turns
    left = tuple(ending for ending in turns.endings if ending.operation != operation)
    answering = turns.active is not None and turns.active.operation == operation
    if not answering and len(left) == len(turns.endings):
        return turns
    return replace(turns, endings=left, answered=(*turns.answered[-REMEMBERED:], operation))


def _wants_answer(state: Session) -> bool:
    detection = state.config.turn_detection
    return detection is not None and detection.create_response and state.abilities.hears == "utterances"
