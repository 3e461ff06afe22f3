"""What is heard of the client.

what comes                                       what becomes of it
audio while the model is not ready               dropped, `preparing`: by then it would be the past
audio when MOST_AHEAD_MS of it wait              of what waits only the newest KEPT_MS are kept
audio when a unit or more has waited for         what has waited all that time is dropped: silence was given
WATCHED_MS without ever being given              in its place, and all that follows would stay as late as it
audio behind the end that the client announced   dropped, `finished`
a piece that cannot be decoded                   recorded; MOST_UNDECODABLE of them beyond those that could
                                                 be, and it is no stream that we know: the session ends
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.actors.session import input, playback
from antiphon.actors.session.commands import AppendAudio
from antiphon.actors.session.mode import Happened
from antiphon.actors.session.state import Session
from antiphon.events.envelope import Draft
from antiphon.events.units import BYTES_PER_SAMPLE, Moment, Samples, ms_to_samples
from antiphon.events.vocabulary import (
    Event,
    InputAppended,
    InputCleared,
    InputDropped,
    InputUndecodable,
    SessionFailed,
    SessionOpened,
    UnitSubmitted,
)

from .call import Call, is_ready, of
from .commands import ReportUndecodable

MOST_AHEAD_MS = 2_000
"""How much input may wait for the stage, which hears it no faster than time passes."""
KEPT_MS = 400
WATCHED_MS = 2_000
MOST_UNDECODABLE = 10


def append_audio(state: Session, command: AppendAudio, at: Moment) -> Happened:
    happened = _appended(state, command, at)
    return happened if command.sent is None else [*happened, *playback.record_sent(state, command.sent, at)]


def _appended(state: Session, command: AppendAudio, at: Moment) -> list[Event | Draft]:
    samples = len(command.pcm) // BYTES_PER_SAMPLE
    reason = "finished" if of(state).finished else None if is_ready(state) else "preparing"
    if reason is not None:
        return [InputDropped(samples=Samples(samples), reason=reason)] if samples else []
    appended = input.append_audio(state, command, at)
    until = state.buffer.appended + samples
    ahead = until - max(state.units.given, state.units.floor)
    if state.unit and ahead > ms_to_samples(MOST_AHEAD_MS):
        return [*appended, InputCleared(until_sample=Samples(until - ms_to_samples(KEPT_MS)))]
    late = _late(state, at)
    return [*appended, InputCleared(until_sample=Samples(until - ahead + late))] if late else appended


def _late(state: Session, at: Moment) -> int:
    """Samples by which everything that is heard is late, and needs not be."""
    call = of(state)
    behind, watched_ns = call.behind or 0, at.mono_ns - call.watched_mono_ns
    return behind if state.unit and behind >= state.unit and watched_ns >= WATCHED_MS * 1_000_000 else 0


def watch(state: Session, event: Event, at: Moment) -> Session:
    """How much waits behind every unit; the watch begins anew when nothing did, and with what was cleared."""
    call = of(state)
    match event:
        case InputCleared():
            return replace(state, own=replace(call, behind=None))
        case UnitSubmitted(work="unit", until_sample=until):
            waits = state.buffer.appended - max(until, state.units.floor)
            if call.behind is None or not waits:
                return replace(state, own=replace(call, behind=waits, watched_mono_ns=at.mono_ns))
            return replace(state, own=replace(call, behind=min(call.behind, waits)))
        case _:
            return state


def report_undecodable(state: Session, command: ReportUndecodable, at: Moment) -> list[Event]:
    return [InputUndecodable(size=command.size, message=command.message)]


def give_up(state: Session, event: InputUndecodable, at: Moment) -> list[Event]:
    """A client that sends something else altogether will not send anything better."""
    if of(state).undecodable < MOST_UNDECODABLE or state.phase != "open":
        return []
    told = f"{MOST_UNDECODABLE} pieces of audio could not be decoded: {event.message}"
    return [SessionFailed(code="undecodable_audio", message=told)]


def fold(state: Session, event: Event, at: Moment) -> Session:
    match event:
        case SessionOpened():
            return replace(state, own=Call())
        case InputUndecodable():
            call = of(state)
            return replace(state, own=replace(call, undecodable=call.undecodable + 1))
        case InputAppended() if of(state).undecodable:
            call = of(state)
            return replace(state, own=replace(call, undecodable=call.undecodable - 1))
        case _:
            return state
