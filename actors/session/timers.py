"""Timers are a fold: what is armed, and when it is due, follows from the state alone.

The actor looks here after every step and after recovery; a timer that fires early by then is harmless,
because its case asks the state again.
"""

from __future__ import annotations

from antiphon.actors.modes import MODES
from antiphon.events.units import Moment

from . import absence, continuation, lease, patience
from .commands import FireTimer, TimerName
from .mode import Happened, Timer, laid_over
from .playback import estimate_played_out, playout_due_ns
from .state import Session
from .voice import silence_due_ns, stop_late

TIMERS: dict[TimerName, Timer] = {
    "silence": Timer(silence_due_ns, stop_late),
    "playout": Timer(playout_due_ns, estimate_played_out),
    "stage": Timer(patience.due_ns, patience.go_on),
    "continuation": Timer(continuation.due_ns, continuation.go_on),
    "lease": Timer(lease.due_ns, lease.end),
    "absence": Timer(absence.due_ns, absence.give_up),
}

_TIMERS_OF = {name: laid_over(TIMERS, mode.timers) for name, mode in MODES.items()}


def timers(state: Session) -> dict[TimerName, int]:
    """Each armed timer and the monotonic time (ns) at which it is due."""
    if state.phase != "open":
        return {}
    dues: dict[TimerName, int] = {}
    for name, timer in _TIMERS_OF[state.mode].items():
        due = timer.due(state)
        if due is not None:
            dues[name] = due
    return dues


def fire(state: Session, command: FireTimer, at: Moment) -> Happened:
    return _TIMERS_OF[state.mode][command.name].fire(state, at)
