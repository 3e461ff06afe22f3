"""Sessions that the engine was asked to let go of and has not let go of yet.

Each still holds its place: memory that is in use cannot be given to the next session. A cleanup that fails is
tried again, first soon and then less often, for as long as the stage lives.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import structlog
from msgspec import Struct

from antiphon.actors.stages.contract import Pending
from antiphon.events.ids import Fence, SessionId

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0

When = Callable[[Callable[[], Pending], Callable[[BaseException | None], None]], None]
"""Does the first, and the second when the engine has done it: with what went wrong, or None."""

log = structlog.get_logger()


class Departure(Struct):
    """One session on its way out."""

    fence: Fence
    gone: list[Callable[[], None]]
    """Whom to tell."""
    failures: int = 0
    due: float | None = None
    """When to ask the engine again; None while it is at it."""


class Departures:
    """`close` is the engine's; `when` and `clock` are the desk's."""

    def __init__(self, close: Callable[[Fence], Pending], when: When, clock: Callable[[], float]) -> None:
        self._close, self._when, self._clock = close, when, clock
        self._leaving: dict[SessionId, Departure] = {}

    def __len__(self) -> int:
        return len(self._leaving)

    def of(self, session: SessionId) -> Departure | None:
        return self._leaving.get(session)

    def expect(self, fence: Fence) -> Departure:
        """The session is over; the engine is asked to let go of it by `begin`, or held nothing (`end`)."""
        departure = self._leaving[fence.session] = Departure(fence, [])
        return departure

    def begin(self, departure: Departure) -> None:
        departure.due = None
        self._when(partial(self._close, departure.fence), partial(self._closed, departure))

    def end(self, departure: Departure) -> None:
        """The engine holds nothing: the place is free, and whoever asked is told."""
        del self._leaving[departure.fence.session]
        for tell in departure.gone:
            tell()

    def try_again(self) -> None:
        """Ask the engine once more where it failed; called every now and then."""
        if not self._leaving:
            return
        now = self._clock()
        for departure in list(self._leaving.values()):
            if departure.due is not None and departure.due <= now:
                self.begin(departure)

    def _closed(self, departure: Departure, error: BaseException | None) -> None:
        if error is None:
            self.end(departure)
            return
        pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0**departure.failures)
        departure.failures += 1
        departure.due = self._clock() + pause
        log.error(
            "stage.close_failed",
            session=departure.fence.session,
            failures=departure.failures,
            again_in_s=pause,
            exc_info=error,
        )
