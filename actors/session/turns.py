"""Turns: who speaks, and how an answer begins, goes on and ends.

One response is generated at a time. A model that hears utterances is asked (UnitSubmitted "speak") once the
text of every committed item is there; a model that hears continuously speaks by itself, and its first words
create the response. Under server VAD the end of the user's speech creates the response; if one is still
being generated (the client asked us not to interrupt), an answer is owed and created when that one ends.
What a stage says of a void epoch is a fact, not a mistake: StageOutputDropped.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events.envelope import Draft
from antiphon.events.ids import ItemId, Operation, ResponseId
from antiphon.events.units import Millis, Moment, Samples, ms_to_samples
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
    Usage,
    WriterOpened,
)

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
from .refusals import ActiveResponse
from .state import Active, Ending, Session, Turns

PIECE = ms_to_samples(200)
"""Audio is stored and sent in pieces of at most this length, so that a barge-in takes back the rest."""

REMEMBERED = 7
"""Finished answers, beside the latest, whose words are known when they are said again."""


def create_response(state: Session, command: CreateResponse, at: Moment) -> list[Event]:
    if state.turns.active is not None:
        raise ActiveResponse(f"response {state.turns.active.response} is still being generated")
    return [_created(state, command)]


def _created(state: Session, options: CreateResponse, *, asked: bool = True) -> ResponseCreated:
    response = ResponseId(state.new_id("resp"))
    fence = replace(state.fence, turn=state.fence.turn + 1, response=response)
    return ResponseCreated(
        response=response,
        item=ItemId(state.new_id("item", 1)),
        fence=fence,
        previous=state.last_item,
        modalities=(options.modalities or state.config.output_modalities)
        if state.abilities.speaks
        else ("text",),
        instructions=options.instructions,
        max_output_tokens=options.max_output_tokens or state.config.max_output_tokens,
        metadata=options.metadata,
        in_history=options.in_history,
        asked=asked,
    )


def answer_speech(state: Session, event: InputCommitted, at: Moment) -> list[Event]:
    """The end of the user's speech asks for an answer, if the session wants that."""
    detection = state.config.turn_detection
    wanted = event.by == "voice" and detection is not None and detection.create_response
    if not wanted or state.turns.active is not None or state.abilities.hears == "continuously":
        return []  # an answer that is owed is counted by the fold
    return [_created(state, CreateResponse())]


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
    return [_created(state, CreateResponse())]


# --- what the stage says ----------------------------------------------------------------------------------


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
        created = _created(state, CreateResponse(), asked=False)
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
    known = recognising or _is_ending(state, command) or _is_input(state, command.operation)
    return [refused] if known else []


def _is_input(state: Session, operation: Operation) -> bool:
    """Whether a continuously hearing stage still owes something for that piece of input."""
    if any(recognition.operation == operation for recognition in state.input.recognitions):
        return False
    continuous = state.abilities.hears == "continuously"
    return continuous and state.turns.listened < operation <= state.buffer.submitted


def _is_ending(state: Session, word: StageWord) -> bool:
    return any(ending.operation == word.operation for ending in state.turns.endings)


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
            if isinstance(event, UnitRefused) and finished is turns and _is_input(state, operation):
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
