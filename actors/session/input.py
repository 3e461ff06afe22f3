"""Input audio: appended, cleared, understood.

The buffer is a half-open range [open_from, appended) of the session's input clock. A commit makes it (or,
under server VAD, the part that was speech) the user's item (commits.py); a clear moves the frontier and
keeps the log. Where input streams, the first chunk with speech in it fixes the turn in which the item will be
answered: the next one then, whatever the model has begun or ended by the time of the commit. A clear or a
cancel gives that up. An utterance is given to the recogniser when the user pauses, so that its text is there
at the commit; a recognition that speech overtook is not used.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events.envelope import Draft
from antiphon.events.ids import ItemId, Operation
from antiphon.events.units import BYTES_PER_SAMPLE, Moment, Samples, ms_to_samples, samples_to_ms
from antiphon.events.vocabulary import (
    EpochAdvanced,
    Event,
    InputAppended,
    InputCleared,
    InputCommitted,
    InputTranscribed,
    SpeechStarted,
    UnitCompleted,
    UnitRefused,
    UnitSubmitted,
    WriterOpened,
)

from .commands import AppendAudio, ClearInput, RecordHeard
from .refusals import Backpressure, Unsupported
from .state import LONGEST_UTTERANCE, NOT_SAID, Input, Recognition, Session, Verdicts


def append_audio(state: Session, command: AppendAudio, at: Moment) -> list[Event | Draft]:
    samples = len(command.pcm) // 2
    if samples == 0:
        return []
    if state.abilities.hears == "utterances" and not state.abilities.transcribes:
        raise Unsupported("there is no recogniser behind this session: send text items instead of audio")
    if state.abilities.unit_ms:
        _check_room(state)
    until = state.buffer.appended + samples
    event = InputAppended(samples=Samples(samples), until_sample=Samples(until), speech=command.speech)
    return [Draft(event=event, at=at, blob=command.pcm)]


def _check_room(state: Session) -> None:
    """A client may be ahead of a stage that is given one unit at a time, but not for ever."""
    ahead = state.buffer.appended - max(state.units.given, state.units.floor)
    if state.streams and ahead * BYTES_PER_SAMPLE > state.lease.terms.pending_input_bytes:
        raise Backpressure(f"{samples_to_ms(ahead)} ms of input wait already for the stage")


def clear_input(state: Session, command: ClearInput, at: Moment) -> list[Event]:
    return [InputCleared(until_sample=Samples(state.buffer.appended))]


def transcribe(state: Session, event: InputCommitted, at: Moment) -> list[Event]:
    """Use the recognition made in the silence wait, wait for it, or ask for one."""
    if event.outcome in NOT_SAID:
        return []
    if state.abilities.hears == "continuously":
        ending = UnitSubmitted(work="turn", fence=state.fence, item=event.item)
        return [] if state.abilities.unit_ms or not event.final else [ending]
    if not state.abilities.transcribes:
        return []
    found = next((r for r in state.input.recognitions if r.item == event.item), None)
    if found is None or (event.by == "client" and found.until < event.until_sample):
        return [
            UnitSubmitted(
                work="recognise",
                fence=state.fence,
                item=event.item,
                from_sample=Samples(max(event.from_sample, event.until_sample - LONGEST_UTTERANCE)),
                until_sample=event.until_sample,
            )
        ]
    if found.text is None:
        return []
    return [InputTranscribed(item=event.item, text=found.text, operation=found.operation)]


def record_heard(state: Session, command: RecordHeard, at: Moment) -> list[Event]:
    if not any(r.operation == command.operation and r.text is None for r in state.input.recognitions):
        return []  # overtaken by more speech, or said twice
    return [UnitCompleted(operation=command.operation, text=command.text)]


def needed_from(state: Session) -> int:
    """The earliest input sample that a stage may still be given: older audio need not be kept at hand."""
    if state.abilities.hears == "continuously":
        return _needed_for_units(state) if state.abilities.unit_ms else state.buffer.appended
    detection, voice = state.config.turn_detection, state.voice
    if detection is None:
        oldest = max(state.buffer.open_from, state.buffer.appended - LONGEST_UTTERANCE)
    elif voice.speaking is not None:
        oldest = voice.item_from
    else:
        began = voice.scored if voice.onset is None else voice.onset
        oldest = max(began - ms_to_samples(detection.prefix_padding_ms), state.buffer.open_from)
    return min([oldest, *(r.from_sample for r in state.input.recognitions if r.text is None)])


def _needed_for_units(state: Session) -> int:
    units = state.units
    needed = max(units.given, units.floor if state.streams else state.buffer.open_from)
    starts = [max(one.from_sample, units.given) for one in units.held]
    under_way = [] if units.flight is None else [units.flight.from_sample]
    return max(min([needed, *starts, *under_way]), state.buffer.appended - LONGEST_UTTERANCE)


def use_recognition(state: Session, event: UnitCompleted, at: Moment) -> list[Event]:
    """A recognition has its text: if its item is committed, the text is the item's."""
    found = next((r for r in state.input.recognitions if r.operation == event.operation), None)
    if found is None or found.item not in state.input.untranscribed:
        return []
    return [InputTranscribed(item=found.item, text=event.text or "", operation=event.operation)]


def do_without_recognition(state: Session, event: UnitRefused, at: Moment) -> list[Event]:
    """A committed item that cannot be understood has an empty text: the turn goes on."""
    waiting = state.input.untranscribed
    known = {r.item for r in state.input.recognitions}
    return [
        InputTranscribed(item=item, text="", operation=event.operation, error=event.code)
        for item in waiting
        if item not in known
    ]


def fold(state: Session, event: Event, at: Moment) -> Session:
    match event:
        case InputAppended(until_sample=until):
            moved = replace(
                state.buffer, appended=until, last_mono_ns=at.mono_ns, submitted=Operation(state.seq)
            )
            if not moved.turn and event.speech is not False and state.streams:
                moved = replace(moved, turn=state.fence.turn + 1)
            if event.speech is not None:
                state = replace(state, verdicts=_judged(state.verdicts, event))
            if state.units.broken:  # the client has said more: a fresh chain
                state = replace(state, units=replace(state.units, broken=False))
            return replace(state, buffer=moved)
        case InputCleared(until_sample=until):
            return replace(
                state,
                buffer=replace(state.buffer, open_from=until, turn=0),
                input=_without_open(state, None),
                verdicts=Verdicts(),
            )
        case InputCommitted(item=item, until_sample=until):
            said = event.outcome not in NOT_SAID
            kept = _without_open(state, item if said else None)
            if said and state.abilities.transcribes:
                kept = replace(kept, untranscribed=(*kept.untranscribed, item))
            moved = replace(state.buffer, open_from=until, turn=0)
            return replace(state, buffer=moved, input=kept, verdicts=Verdicts())
        case EpochAdvanced():
            return replace(state, buffer=replace(state.buffer, turn=0)) if state.buffer.turn else state
        case InputTranscribed(item=item):
            return replace(state, input=_without_item(state.input, item))
        case WriterOpened(boot=boot) if boot != state.boot:  # silence is counted from here
            again = tuple(replace(r, asked_mono_ns=at.mono_ns) for r in state.input.recognitions)
            moved = replace(state.buffer, last_mono_ns=at.mono_ns)
            return replace(state, buffer=moved, input=replace(state.input, recognitions=again))
        case _:
            return state


def _judged(verdicts: Verdicts, event: InputAppended) -> Verdicts:
    if event.speech:
        return replace(verdicts, speech=verdicts.speech + event.samples)
    return replace(verdicts, silence=verdicts.silence + event.samples)


def fold_recognition(state: Session, event: Event, at: Moment) -> Session:
    """Recognitions: asked for, answered, refused, overtaken by speech."""
    known = state.input.recognitions
    match event:
        case UnitSubmitted(work="recognise", item=item) if item is not None:
            asked = Recognition(
                Operation(state.seq),
                event.fence,
                item,
                event.from_sample,
                event.until_sample,
                asked_mono_ns=at.mono_ns,
            )
            others = tuple(r for r in known if r.item != item)
            return replace(state, input=replace(state.input, recognitions=(*others, asked)))
        case UnitCompleted(operation=operation, text=text) if text is not None:
            heard = tuple(replace(r, text=text) if r.operation == operation else r for r in known)
            return replace(state, input=replace(state.input, recognitions=heard))
        case UnitRefused(operation=operation):
            left = tuple(r for r in known if r.operation != operation)
            return replace(state, input=replace(state.input, recognitions=left))
        case SpeechStarted():
            return replace(state, input=_without_open(state, None))
        case _:
            return state


def _without_open(state: Session, item: ItemId | None) -> Input:
    """Forget recognitions of speech that is neither committed nor `item`."""
    committed = state.input.untranscribed
    left = tuple(r for r in state.input.recognitions if r.item in committed or r.item == item)
    return replace(state.input, recognitions=left)


def _without_item(known: Input, item: ItemId) -> Input:
    return replace(
        known,
        recognitions=tuple(r for r in known.recognitions if r.item != item),
        untranscribed=tuple(one for one in known.untranscribed if one != item),
    )
