"""The user's voice: when it starts and stops, and which audio is the user's words.

What the probabilities amount to says hysteresis.py. Audio is kept from `prefix_padding_ms` before the onset,
but never from before the last commit or clear, and goes as far as the silence that ended it; of a segment
the silence is cut off, but for as much as stands before it. All of it runs on the audio clock; a client that
stops sending in mid-speech is caught by a timer, which waits for a detector that is behind.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events.ids import ItemId
from antiphon.events.units import Moment, Samples, ms_to_samples
from antiphon.events.vocabulary import (
    Event,
    InputCleared,
    InputCommitted,
    SessionConfigured,
    SpeechStarted,
    SpeechStopped,
    TurnDetection,
    UnitSubmitted,
    VoiceScored,
    WriterOpened,
)

from .commands import RecordScores
from .hysteresis import WALKS, Crossing, kept_until
from .state import LONGEST_UTTERANCE, Session, Voice

LATE_MS = 250
"""Grace beyond the silence duration for a client that has stopped sending."""


def record_scores(state: Session, command: RecordScores, at: Moment) -> list[Event]:
    detection = state.config.turn_detection
    if command.until_sample <= state.voice.scored:
        return []
    scored = VoiceScored(
        until_sample=Samples(command.until_sample),
        window=Samples(command.window),
        permille=command.permille,
    )
    if detection is None:
        return [scored]
    walk = WALKS[detection.kind]
    _, crossings = walk(state.voice, detection, command.until_sample, command.window, command.permille)
    return [scored, *_crossed(state, detection, crossings)]


def _crossed(state: Session, detection: TurnDetection, crossings: list[Crossing]) -> list[Event]:
    """The facts the crossings amount to. Several may lie in one message from a coarse client."""
    events: list[Event] = []
    item, kept_from = state.voice.speaking, state.voice.item_from
    floor = state.buffer.open_from
    for k, crossing in enumerate(crossings):
        if crossing.what == "started":
            item = ItemId(state.new_id("item", k))
            kept_from = max(crossing.sample - ms_to_samples(detection.prefix_padding_ms), floor)
            events.append(
                SpeechStarted(
                    item=item,
                    onset_sample=Samples(crossing.sample),
                    from_sample=Samples(kept_from),
                )
            )
        elif crossing.what == "paused" and item is not None:
            events += _recognise(state, item, kept_from, crossing.sample)
        elif crossing.what == "stopped" and item is not None:
            until = crossing.sample if crossing.speech_until is None else kept_until(detection, crossing)
            events.append(SpeechStopped(item=item, until_sample=Samples(until), short=crossing.short))
            item, floor = None, floor if crossing.short else until
    return events


def _recognise(state: Session, item: ItemId, start: int, until: int) -> list[Event]:
    if not state.abilities.transcribes:
        return []
    return [
        UnitSubmitted(
            work="recognise",
            fence=state.fence,
            item=item,
            from_sample=Samples(max(start, until - LONGEST_UTTERANCE)),
            until_sample=Samples(until),
        )
    ]


def silence_due_ns(state: Session) -> int | None:
    """When a client that has stopped sending in mid-speech is taken to be silent."""
    detection = state.config.turn_detection
    if detection is None or state.voice.speaking is None:
        return None
    heard_ns = max(state.buffer.last_mono_ns, state.voice.scored_mono_ns)
    return heard_ns + (detection.silence_duration_ms + LATE_MS) * 1_000_000


def stop_late(state: Session, at: Moment) -> list[Event]:
    due, voice, until = silence_due_ns(state), state.voice, state.buffer.appended
    if due is None or at.mono_ns < due or voice.speaking is None:
        return []
    stopped = SpeechStopped(item=voice.speaking, until_sample=Samples(until), by="timer")
    if voice.paused:  # what was recognised at the pause is all there is
        return [stopped]
    return [*_recognise(state, voice.speaking, voice.item_from, until), stopped]


def fold(state: Session, event: Event, at: Moment) -> Session:
    voice = state.voice
    match event:
        case VoiceScored(until_sample=until, window=window, permille=permille):
            detection = state.config.turn_detection
            if detection is None:
                return replace(state, voice=replace(voice, scored=until))
            moved, _ = WALKS[detection.kind](voice, detection, until, window, permille)
            return replace(state, voice=replace(moved, scored_mono_ns=at.mono_ns))
        case SpeechStarted(item=item, from_sample=kept_from):
            return replace(state, voice=replace(voice, speaking=item, item_from=kept_from))
        case SpeechStopped(by="voice"):  # the walk has already begun anew
            return replace(state, voice=replace(voice, speaking=None))
        case SpeechStopped() | InputCommitted(by="client") | InputCleared():
            return _begun_anew(state)
        case SessionConfigured(config=config):
            before, after = state.config.turn_detection, config.turn_detection
            return _begun_anew(state) if before is None or after is None else state
        case WriterOpened(boot=boot) if boot != state.boot:
            return replace(state, voice=replace(voice, scored_mono_ns=0))
        case _:
            return state


def _begun_anew(state: Session) -> Session:
    """Scores of audio that is committed, cleared or was never meant to be detected count no more."""
    scored = max(state.voice.scored, state.buffer.appended)
    return replace(state, voice=Voice(scored=scored, item_from=state.voice.item_from))
