"""What differs between kinds of sessions, as tables beside those of the core.

A session is of one mode from its first event on (`SessionOpened.mode`). A mode's tables are laid over the
core's once, when the program starts; `decide`, `evolve`, the effects and the timers look up what belongs to
the state's mode, and none of them asks which that is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from antiphon.events.envelope import Draft
from antiphon.events.units import Moment
from antiphon.events.vocabulary import Event

from .commands import Command, TimerName
from .effects import Derive
from .state import Session, Slice

Happened: TypeAlias = Sequence[Event | Draft]
Case = Callable[[Session, Any, Moment], Happened]  # each takes the command of its key
Rule = Callable[[Session, Any, Moment], Happened]  # each takes the event of its key
Fold = Callable[[Session, Event, Moment], Session]

Table = TypeVar("Table", bound=Mapping[Any, Any])


class Timer(Struct, frozen=True):
    """`due`: when, on the monotonic clock (ns); None: it is not armed. `fire` asks the state again."""

    due: Callable[[Session], int | None]
    fire: Callable[[Session, Moment], Happened]


class Mode(Struct, frozen=True, kw_only=True):
    """A mode's own entries. They take the place of the core's; but its folds run after the core's.

    What a mode must remember of its own stands in `Session.own`, as its `slice` from SessionOpened on.
    """

    slice: type[Slice] | None = None
    cases: Mapping[type[Command], Case] = {}
    rules: Mapping[type[Event], Rule] = {}
    """What follows from a fact."""
    before: Mapping[type[Event], Rule] = {}
    """What must stand before a fact."""
    folds: Mapping[type[Event], tuple[Fold, ...]] = {}
    effects: Mapping[type[Event], Derive] = {}
    timers: Mapping[TimerName, Timer] = {}


def laid_over(core: Table, own: Mapping[Any, Any]) -> Table:
    """The core's table with a mode's entries in it; the core's itself where there are none."""
    return {**core, **own} if own else core  # type: ignore[return-value]  # a dict is what the cores are
