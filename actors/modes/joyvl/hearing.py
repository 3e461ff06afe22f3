"""What the models say of a watcher's ticks, summaries and delegations: each word once, and in its place.

What belongs to nothing that is under way is nothing any more.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.actors.session.commands import RecordFailure, RecordFinish, RecordSpeech, StageWord
from antiphon.actors.session.mode import Happened
from antiphon.actors.session.state import Session
from antiphon.events.ids import Operation
from antiphon.events.units import Moment
from antiphon.events.vocabulary import Event, ModelWrote

from . import delegating, summing, ticking
from .watch import Delegated, Present, Summing, Watch, of

Work = Present | Summing | Delegated


def _work(watch: Watch, operation: Operation) -> Work | None:
    """What an operation is for, as long as that is under way."""
    if watch.present is not None and watch.present.operation == operation:
        return watch.present
    waits = watch.summing is not None and watch.summing.failed_mono_ns is None
    if waits and watch.summing is not None and watch.summing.operation == operation:
        return watch.summing
    return next((one for one in watch.delegated if one.operation == operation and one.is_pending), None)


def record_speech(state: Session, command: RecordSpeech, at: Moment) -> Happened:
    work = _work(of(state), command.operation)
    if work is None or command.index < work.next_index:
        return []
    if command.image and isinstance(work, Delegated):
        return delegating.pictured(work, command.image, at)
    wrote = ModelWrote(operation=command.operation, index=command.index, text=command.text)
    return [wrote] if command.text else []


def record_finish(state: Session, command: RecordFinish, at: Moment) -> list[Event]:
    match _work(of(state), command.operation):
        case Present() as present:
            return ticking.decided(state, present)
        case Summing() as written:
            return summing.added(state, written)
        case Delegated() as delegated:
            return delegating.ready(delegated)
        case _:
            return []


def record_failure(state: Session, command: RecordFailure, at: Moment) -> list[Event]:
    match _work(of(state), command.operation):
        case Present():
            return ticking.failed(state, command.code, command.message)
        case Summing():
            return summing.failed(state, command.code, command.message)
        case Delegated() as delegated:
            return delegating.failed((delegated,), command.code, command.message)
        case _:
            return []


def record_nothing(state: Session, command: StageWord, at: Moment) -> list[Event]:
    """What is of no interest here."""
    return []


def everything_failed(state: Session, code: str, message: str) -> list[Event]:
    """Nobody will say anything more of what was asked."""
    return [
        *ticking.failed(state, code, message),
        *summing.failed(state, code, message),
        *delegating.failed(of(state).delegated, code, message),
    ]


def fold(state: Session, event: Event, at: Moment) -> Session:
    watch = of(state)
    match event:
        case ModelWrote(operation=operation, index=index, text=text):
            moved: dict[str, object] = {"next_index": index + 1, "moved_mono_ns": at.mono_ns}
            match _work(watch, operation):
                case Present(raw=raw) as present:
                    return replace(
                        state, own=replace(watch, present=replace(present, raw=raw + text, **moved))
                    )
                case Summing(text=before) as written:
                    grown = replace(written, text=before + text, **moved)
                    return replace(state, own=replace(watch, summing=grown))
                case Delegated(text=before) as asked:
                    grown_ = replace(asked, text=before + text, **moved)
                    others = tuple(grown_ if one is asked else one for one in watch.delegated)
                    return replace(state, own=replace(watch, delegated=others))
            return state
        case _:
            return state
