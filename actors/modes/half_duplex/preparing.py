"""How a call begins, and begins anew: with nothing said, and its time before it."""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.actors.session.configuration import configure
from antiphon.actors.session.refusals import NotIdle
from antiphon.actors.session.state import Session
from antiphon.events.units import Millis, Moment, Samples
from antiphon.events.vocabulary import CallPrepared, Event, InputCleared, SessionOpened

from .call import Call, is_speaking, of
from .commands import Prepare


def prepare(state: Session, command: Prepare, at: Moment) -> list[Event]:
    if is_speaking(state) or state.input.untranscribed:
        raise NotIdle("the assistant speaks: prepare again when it has finished", parameter="type")
    appended = state.buffer.appended
    cleared = [InputCleared(until_sample=Samples(appended))] if appended else []
    prepared = CallPrepared(
        number=of(state).prepared + 1,
        timeout_ms=Millis(command.lasts_ms),
        settings=command.settings,
        not_applied=command.not_applied,
        recorded=command.recorded,
    )
    return [*cleared, *configure(state, command.configuration, at), prepared]


def fold(state: Session, event: Event, at: Moment) -> Session:
    match event:
        case SessionOpened():
            return replace(state, own=Call(since_mono_ns=at.mono_ns))
        case CallPrepared(number=number, timeout_ms=lasts_ms):
            begun = Call(since_mono_ns=at.mono_ns, lasts_ms=lasts_ms, prepared=number)
            return replace(state, own=begun, entries=())
        case _:
            return state
