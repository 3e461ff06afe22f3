"""What is heard of the user, and when it is answered.

what comes                                          what becomes of it
audio before the call is prepared                   refused
audio within COLD_START_MS of that                  dropped: the microphone has just been opened
audio while the assistant speaks                    dropped: it is the assistant's echo
a segment of speech, and the assistant is silent    answered at once
one behind it, in audio that had come before        answered when the answer has been played
more than MOST_WAITING of those                     kept: the next answer knows of it
speech that had not ended when an answer began      kept, as far as it was heard
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from antiphon.actors.session import input, playback, voice
from antiphon.actors.session.answers import created
from antiphon.actors.session.commands import AppendAudio, CreateResponse
from antiphon.actors.session.commits import commit_speech
from antiphon.actors.session.hysteresis import Crossing, kept_until
from antiphon.actors.session.mode import Happened
from antiphon.actors.session.refusals import NotPrepared
from antiphon.actors.session.state import Session
from antiphon.actors.session.turns import answer_commit
from antiphon.events.units import BYTES_PER_SAMPLE, Moment, Samples, ms_to_samples
from antiphon.events.vocabulary import (
    Event,
    InputCommitted,
    InputDropped,
    PlaybackEstimated,
    ResponseCreated,
    ResponseEnded,
    SpeechStarted,
    SpeechStopped,
)

from .call import is_playing_out, is_speaking, of

COLD_START_MS = 500
MOST_WAITING = 16


def append_audio(state: Session, command: AppendAudio, at: Moment) -> Happened:
    reason = _unheard(state, at)
    if reason is None:
        happened = list(input.append_audio(state, command, at))
    else:
        samples = Samples(len(command.pcm) // BYTES_PER_SAMPLE)
        happened = [InputDropped(samples=samples, reason=reason)] if samples else []
    return happened if command.sent is None else [*happened, *playback.record_sent(state, command.sent, at)]


def _unheard(state: Session, at: Moment) -> str | None:
    """Why audio that comes now is not heard; None: it is."""
    call = of(state)
    if not call.prepared:
        raise NotPrepared("Not prepared yet")
    if state.turns.active is not None or call.waiting:
        return "answering"
    if is_playing_out(state):
        return "playing"
    return "cold_start" if at.mono_ns < call.since_mono_ns + COLD_START_MS * 1_000_000 else None


def go_on(state: Session, event: SpeechStarted, at: Moment) -> list[Event]:
    """Nobody breaks in here."""
    return []


def commit(state: Session, event: SpeechStopped, at: Moment) -> list[Event]:
    """A segment is the user's turn. Which of them is answered when says the table above."""
    if event.short or event.by in ("answer", "end"):
        return []
    at_once = not is_speaking(state)
    later = not at_once and len(of(state).waiting) < MOST_WAITING
    outcome = "asked" if at_once else "deferred" if later else "kept"
    return [replace(one, outcome=outcome) for one in commit_speech(state, event, at)]


def recognise(state: Session, event: InputCommitted, at: Moment) -> list[Event]:
    """What was being said when the session ended nobody needs to understand any more."""
    if event.by == "end":
        return []
    return [*input.transcribe(state, event, at), *answer_commit(state, event, at)]


def open_speech(state: Session, by: str) -> list[Event]:
    """End speech that goes on: what of it was heard is the user's words, and is not answered."""
    stopped = _stopped(state, by)
    if stopped is None or stopped.short:
        return [] if stopped is None else [stopped]
    kept = InputCommitted(
        item=stopped.item,
        from_sample=Samples(state.voice.item_from),
        until_sample=stopped.until_sample,
        by="end" if by == "end" else "voice",
        previous=state.last_item,
        final=False,
    )
    return [stopped, kept]


def _stopped(state: Session, by: str) -> SpeechStopped | None:
    """The end of the segment that is open, by what is known of it now."""
    heard, detection = state.voice, state.config.turn_detection
    if heard.speaking is None or detection is None:
        return None
    spoken = heard.scored - heard.silence
    until = kept_until(detection, Crossing("stopped", max(heard.scored, spoken), spoken))
    began = heard.item_from if heard.onset is None else heard.onset
    short = spoken - began < ms_to_samples(detection.min_speech_ms)
    return SpeechStopped(item=heard.speaking, until_sample=Samples(until), by=by, short=short)


def silence_due_ns(state: Session) -> int | None:
    """When a client that sends nothing any more is taken to be silent; not while it is not heard."""
    return None if is_speaking(state) else voice.silence_due_ns(state)


def stop_late(state: Session, at: Moment) -> Sequence[Event]:
    due, stopped = silence_due_ns(state), _stopped(state, "timer")
    return [] if due is None or at.mono_ns < due or stopped is None else [stopped]


# --- whose turn it is -------------------------------------------------------------------------------------


def listen_again(state: Session, event: ResponseEnded, at: Moment) -> list[Event]:
    """After an answer the user begins anew."""
    if event.session_over:
        return []
    return [*open_speech(state, "answer"), *_next(state)]


def answer_next(state: Session, event: PlaybackEstimated, at: Moment) -> list[Event]:
    """When an answer has been played the segment that waits is answered."""
    return _next(state)


def _next(state: Session) -> list[Event]:
    waiting = of(state).waiting
    if not waiting or state.turns.active is not None or is_playing_out(state):
        return []
    return [created(state, CreateResponse(), answers=waiting[0])]


def fold(state: Session, event: Event, at: Moment) -> Session:
    call = of(state)
    match event:
        case InputCommitted(outcome="deferred", item=item):
            return replace(state, own=replace(call, waiting=(*call.waiting, item)))
        case ResponseCreated(answers=item) if item is not None:
            left = tuple(one for one in call.waiting if one != item)
            return replace(state, own=replace(call, waiting=left))
        case _:
            return state
