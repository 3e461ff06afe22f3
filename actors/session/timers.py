"""Timers are a fold: what is armed, and when it is due, follows from the state alone.

The actor looks here after every step and after recovery; a timer that fires early by then is harmless,
because its case asks the state again.
"""

from __future__ import annotations

from antiphon.events.units import Moment
from antiphon.events.vocabulary import Event

from . import absence, continuation, lease, patience
from .commands import FireTimer, TimerName
from .playback import estimate_played_out, playout_due_ns
from .state import Session
from .voice import silence_due_ns, stop_late


def timers(state: Session) -> dict[TimerName, int]:
    """Each armed timer and the monotonic time (ns) at which it is due."""
    if state.phase != "open":
        return {}
    dues: dict[TimerName, int] = {}
    if (due := silence_due_ns(state)) is not None:
        dues["silence"] = due
    if (due := playout_due_ns(state)) is not None:
        dues["playout"] = due
    if (due := patience.due_ns(state)) is not None:
        dues["stage"] = due
    if (due := continuation.due_ns(state)) is not None:
        dues["continuation"] = due
    if (due := lease.due_ns(state)) is not None:
        dues["lease"] = due
    if (due := absence.due_ns(state)) is not None:
        dues["absence"] = due
    return dues


def fire(state: Session, command: FireTimer, at: Moment) -> list[Event]:
    match command.name:
        case "silence":
            return list(stop_late(state, at))
        case "playout":
            return list(estimate_played_out(state, at))
        case "continuation":
            return continuation.go_on(state, at)
        case "lease":
            return lease.end(state, at)
        case "absence":
            return absence.give_up(state, at)
        case _:
            return patience.go_on(state, at)
