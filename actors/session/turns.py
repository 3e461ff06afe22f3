"""Turns: who speaks, and how an answer begins, goes on and ends.

One response is generated at a time. A model that hears utterances is asked (UnitSubmitted "speak") once the
text of every committed item is there; a model that hears continuously speaks by itself, and its first words
create the response. Under server VAD the end of the user's speech creates the response; if one is still
being generated (the client asked us not to interrupt), an answer is owed and created when that one ends.
Items deferred behind an answer are answered one by one, each with what was said until then, once it has ended
by itself; with an answer that was cancelled, or has failed, they are no longer waited for.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events.ids import Operation, ResponseId
from antiphon.events.units import Moment
from antiphon.events.vocabulary import (
    AnswerRouted,
    AudioSpoken,
    EffectFailed,
    EffectStarted,
    EpochAdvanced,
    Event,
    InputCleared,
    InputCommitted,
    InputTranscribed,
    ItemRemoved,
    ModelListened,
    ResponseCreated,
    ResponseEnded,
    StageMeasured,
    StageOutputDropped,
    TextSpoken,
    ToolCalled,
    TurnEnded,
    UnitCompleted,
    UnitRefused,
    UnitSubmitted,
    WriterOpened,
)

from .answers import created, is_input, unanswered
from .commands import CreateResponse
from .refusals import ActiveResponse, NothingSpoken, NothingToAnswer, OptionUnsupported
from .state import Active, Ending, Session, Turns

ONE_TIME = ("instructions", "max_output_tokens", "voice", "temperature", "speed")
"""What may be asked for one response only, if the stage can do that."""

REMEMBERED = 7
"""Finished answers, beside the latest, whose words are known when they are said again."""


def create_response(state: Session, command: CreateResponse, at: Moment) -> list[Event]:
    if state.turns.active is not None:
        raise ActiveResponse(f"response {state.turns.active.response} is still being generated")
    for option in ONE_TIME:
        if getattr(command, option) is not None and option not in state.abilities.response_options:
            told = f"the stage cannot change {option} for one response only"
            raise OptionUnsupported(told, parameter=f"response.{option}")
    _check_input(state)
    return [created(state, command)]


def _check_input(state: Session) -> None:
    """Whether there is anything to answer, and of a kind that the stage can take."""
    reads, asked = state.abilities.reads, unanswered(state)
    spoken = any(part.kind == "input_audio" for item in asked for part in item.content)
    if asked and not reads and not spoken:
        raise NothingSpoken("the stage behind this session takes no text: say something")
    if not asked and (state.config.strict or not (reads or state.streams)):
        raise NothingToAnswer("nothing was said since the last answer")


def answer_commit(state: Session, event: InputCommitted, at: Moment) -> list[Event]:
    """An answer that is asked for with the commit, or by the end of speech if the session wants that."""
    detection = state.config.turn_detection
    by_voice = event.by == "voice" and detection is not None and detection.create_response
    wanted = by_voice or event.outcome == "asked"
    if not wanted or state.turns.active is not None or state.streams:
        return []  # an answer that is owed is counted by the fold; one in a stream begins by itself
    return [created(state, CreateResponse())]


def ask_model(state: Session, event: ResponseCreated | InputTranscribed, at: Moment) -> list[Event]:
    """Ask for the answer as soon as everything the user said has been understood."""
    active = state.turns.active
    if active is None or active.operation is not None or state.input.untranscribed:
        return []
    if isinstance(event, ResponseCreated) and not event.asked:
        return []
    if state.unit and _is_spoken_to(state):
        return []
    return [UnitSubmitted(work="speak", fence=state.fence, response=active.response)]


def _is_spoken_to(state: Session) -> bool:
    """Whether the question is in the units of the input, and the stage need not be asked beside them."""
    return bool(state.units.wanted) or not state.abilities.reads or (state.streams and not _is_written(state))


def _is_written(state: Session) -> bool:
    last = state.entries[-2].item if len(state.entries) > 1 else None
    return last is not None and any(part.kind == "input_text" for part in last.content)


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
    if event.session_over:
        return []
    if state.turns.deferred:
        return [created(state, CreateResponse(), answers=state.turns.deferred[0])]
    if not state.turns.owed or event.reason == "turn_detected":
        return []  # a user who breaks in is answered once he has finished
    return [created(state, CreateResponse())]


# --- the fold ---------------------------------------------------------------------------------------------


def fold(state: Session, event: Event, at: Moment) -> Session:
    """The answer under way."""
    turns = state.turns
    match event:
        case ResponseCreated():
            return replace(state, turns=_begun(turns, event))
        case ResponseEnded(response=response, outcome=outcome) if _is_active(turns, response):
            left = turns.deferred if outcome in ("completed", "incomplete") else ()
            return replace(state, turns=replace(turns, active=None, deferred=left))
        case ToolCalled(item=item) if turns.active is not None:
            calling = replace(turns.active, calls=(*turns.active.calls, item))
            return replace(state, turns=replace(turns, active=calling))
        case UnitSubmitted(work="speak") if turns.active is not None:
            asked = replace(turns.active, operation=Operation(state.seq), moved_mono_ns=at.mono_ns)
            return replace(state, turns=replace(turns, active=asked))
        case EffectStarted() if turns.active is not None:
            return replace(state, turns=replace(turns, active=replace(turns.active, started=True)))
        case WriterOpened(boot=boot) if boot != state.boot and turns.active is not None:
            moved = replace(turns.active, moved_mono_ns=at.mono_ns)
            return replace(state, turns=replace(turns, active=moved))
        case _:
            return state


def _begun(turns: Turns, event: ResponseCreated) -> Turns:
    active = Active(
        event.response,
        event.item,
        event.fence,
        event.modalities,
        event.instructions,
        event.max_output_tokens,
        voice=event.voice,
        temperature=event.temperature,
        speed=event.speed,
        answers=event.answers,
    )
    left = tuple(one for one in turns.deferred if one != event.answers)
    owed = turns.owed and event.answers is not None
    return replace(turns, active=active, owed=owed, deferred=left)


def fold_owed(state: Session, event: Event, at: Moment) -> Session:
    """What is to be answered when the answer under way has ended."""
    turns = state.turns
    match event:
        case InputCommitted(outcome="deferred", item=item):
            return replace(state, turns=replace(turns, deferred=(*turns.deferred, item)))
        case InputCommitted(by="voice") if turns.active is not None and _wants_answer(state):
            return replace(state, turns=replace(turns, owed=True))
        case InputCleared() if turns.deferred:
            return replace(state, turns=replace(turns, deferred=()))
        case ItemRemoved(item=item) if item in turns.deferred:
            left = tuple(one for one in turns.deferred if one != item)
            return replace(state, turns=replace(turns, deferred=left))
        case _:
            return state


def fold_endings(state: Session, event: Event, at: Moment) -> Session:
    """Operations that have had their last output, and the turns that either side has ended."""
    turns = state.turns
    match event:
        case UnitSubmitted(work="turn"):
            endings = (*turns.endings, Ending(Operation(state.seq)))
            return replace(state, turns=replace(turns, endings=endings))
        case TurnEnded():
            return replace(state, turns=replace(turns, ended=turns.ended + 1))
        case UnitCompleted(operation=operation) | UnitRefused(operation=operation):
            finished = _finished(state, operation)
            if isinstance(event, UnitRefused) and finished is turns and is_input(state, operation):
                finished = _advanced(turns, operation, 0, at)
            return replace(state, turns=finished)
        case EpochAdvanced() if state.abilities.hears == "continuously":
            # What was asked before is void at the stage, too: it will not be answered.
            heard = max((turns.listened, turns.listened_index), (state.buffer.submitted, 0))
            void = replace(turns, endings=(), listened=heard[0], listened_index=heard[1])
            return replace(state, turns=void)
        case _:
            return state


def _is_active(turns: Turns, response: ResponseId) -> bool:
    return turns.active is not None and turns.active.response == response


def fold_outputs(state: Session, event: Event, at: Moment) -> Session:
    """Which stage outputs the log already holds."""
    match event:
        case (
            TextSpoken(operation=operation, index=index)
            | AudioSpoken(operation=operation, index=index)
            | AnswerRouted(operation=operation, index=index)
            | StageMeasured(operation=operation, index=index)
            | StageOutputDropped(operation=operation, index=index)
            | ToolCalled(operation=operation, index=index)
            | TurnEnded(operation=operation, index=index)
        ):
            if state.units.flight is None:
                return replace(state, turns=_advanced(state.turns, operation, index, at))
            return _heard_of(state, operation, index, at)
        case ModelListened(operation=operation, index=index) if operation is not None:
            return _heard_of(state, operation, index, at)
        case _:
            return state


def _heard_of(state: Session, operation: Operation, index: int, at: Moment) -> Session:
    flight = state.units.flight
    if flight is None or flight.operation != operation:
        return replace(state, turns=_advanced(state.turns, operation, index, at))
    heard = replace(flight, next_index=max(flight.next_index, index + 1))
    return replace(state, units=replace(state.units, flight=heard))


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
    return detection is not None and detection.create_response and not state.streams
