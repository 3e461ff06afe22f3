"""What ends: a watcher that nobody shows anything for a while, and what its models do not answer.

A watcher is not gone on with by another process. What was asked of a stage that has gone, or of one that says
nothing for PATIENCE_S, has failed; nothing of it is asked again but summaries.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.actors.session import patience
from antiphon.actors.session.commands import Park
from antiphon.actors.session.state import STAGE_LOST, Session
from antiphon.events.units import SECOND_NS, Moment
from antiphon.events.vocabulary import (
    ClientDetached,
    Event,
    SessionClosed,
    SessionExpired,
    StageAway,
    WriterOpened,
)

from . import delegating, hearing, summing, ticking
from .watch import Watch, of, options

PATIENCE_S = 300
MESSAGE = f"the model said nothing for {PATIENCE_S} s"


def end_with_client(state: Session, event: ClientDetached, at: Moment) -> list[Event]:
    return [SessionClosed(reason="client")] if state.phase == "open" else []


def end_with_process(state: Session, command: Park, at: Moment) -> list[Event]:
    return [SessionClosed(reason=command.reason)]


def fail_interrupted(state: Session, event: WriterOpened, at: Moment) -> list[Event]:
    """What was asked of models outside is not asked again."""
    if state.phase != "open":
        return []
    return hearing.everything_failed(state, "effect_interrupted", "the server was interrupted meanwhile")


def fail_with_stage(state: Session, event: StageAway, at: Moment) -> list[Event]:
    if event.stage != "model" or state.phase != "open":
        return []
    return hearing.everything_failed(state, STAGE_LOST, "the model's process has ended")


def end_tick(state: Session, event: Event, at: Moment) -> list[Event]:
    """Before a session ends its tick does, so that whoever waits for it is told."""
    return ticking.failed(state, "session_closed", "the session has ended")


def idle_due_ns(state: Session) -> int | None:
    """When nobody will have shown anything for too long; never in a tick."""
    idle_s = options(state).idle_s
    if of(state).present is not None or idle_s <= 0:
        return None
    return of(state).seen_mono_ns + int(idle_s * SECOND_NS)


def expire(state: Session, at: Moment) -> list[Event]:
    due = idle_due_ns(state)
    return [] if due is None or at.mono_ns < due else [SessionExpired(reason="idle")]


def patience_due_ns(state: Session) -> int | None:
    """When a stage is overdue, with a session or with what it was asked."""
    watch = of(state)
    moved = [] if watch.present is None else [watch.present.moved_mono_ns]
    if watch.summing is not None and watch.summing.failed_mono_ns is None:
        moved.append(watch.summing.moved_mono_ns)
    moved += [one.moved_mono_ns for one in watch.delegated if one.is_pending and one.kind != "stub"]
    dues = [one + PATIENCE_S * SECOND_NS for one in moved]
    opening = patience.due_ns(state)
    return min(dues if opening is None else [*dues, opening], default=None)


def give_up(state: Session, at: Moment) -> list[Event]:
    unopened = patience.go_on(state, at)
    if unopened:
        return unopened
    watch, late = of(state), at.mono_ns - PATIENCE_S * SECOND_NS
    events: list[Event] = []
    if watch.present is not None and watch.present.moved_mono_ns <= late:
        events += ticking.failed(state, patience.CODE, MESSAGE)
    if watch.summing is not None and watch.summing.moved_mono_ns <= late:
        events += summing.failed(state, patience.CODE, MESSAGE)
    overdue = [one for one in watch.delegated if one.moved_mono_ns <= late]
    return [*events, *delegating.failed(overdue, patience.CODE, MESSAGE)]


def fold(state: Session, event: Event, at: Moment) -> Session:
    return replace(state, own=Watch(persona=options(state).persona, seen_mono_ns=at.mono_ns))
