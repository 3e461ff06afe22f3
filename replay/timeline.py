"""When things happened, as samples on one clock that begins with the session's first event.

Monotonic time counts while somebody hosts the session. What passed between two writers is left out: nobody
spoke to anybody then, and monotonic times of another boot mean nothing here.
"""

from __future__ import annotations

from antiphon.events.envelope import Stored
from antiphon.events.units import SAMPLE_RATE
from antiphon.events.vocabulary import WriterOpened

_NS = 1_000_000_000


class Timeline:
    """Told every event in order; then knows the place of any moment of the present writer."""

    def __init__(self) -> None:
        self._zero_ns: int | None = None
        self._last_ns = 0

    def pass_(self, stored: Stored) -> None:
        mono_ns = stored.at.mono_ns
        if self._zero_ns is None:
            self._zero_ns = mono_ns
        elif type(stored.event) is WriterOpened:
            self._zero_ns += mono_ns - self._last_ns
        self._last_ns = mono_ns

    def since_ns(self, mono_ns: int) -> int:
        """From the beginning to `mono_ns`; 0 for what is said to have been before it."""
        return max(mono_ns - (self._zero_ns or 0), 0)

    def place(self, mono_ns: int) -> int:
        """The sample at `mono_ns`; 0 for what is said to have been before the beginning."""
        return self.since_ns(mono_ns) * SAMPLE_RATE // _NS


class Elapsed:
    """Told every event in order: how long after the first it happened, with what passed between writers.

    By the monotonic clock within one boot of the machine; from one boot to the next by the wall's.
    """

    def __init__(self) -> None:
        self._zero_ns: int | None = None
        self._began_wall_ns = 0
        self._boot: str | None = None

    def seconds(self, stored: Stored) -> float:
        at, event = stored.at, stored.event
        if self._zero_ns is None:
            self._zero_ns, self._began_wall_ns = at.mono_ns, at.wall_ns
        if isinstance(event, WriterOpened):
            if self._boot not in (None, event.boot):
                self._zero_ns = at.mono_ns - max(at.wall_ns - self._began_wall_ns, 0)
            self._boot = event.boot
        return (at.mono_ns - self._zero_ns) / _NS
