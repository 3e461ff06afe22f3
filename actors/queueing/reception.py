"""Where callers get a place, or a ticket for one. One serving process's; everything is on the loop's thread.

Whoever waits is before everybody who comes later, of whatever mode: a place that becomes free is given to the
first in line at once, before anybody else could ask for it. Several serving processes have no line in common,
so there nobody waits: who finds no place is told so.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from antiphon.actors.admission import CannotOpen
from antiphon.events.ids import SessionId

from .estimate import waits_s
from .facts import Began, Ended, Queued, QueueFact, Withdrawn
from .queue import Queue, Waiting, evolve, positions

MOST_WAITING = 1_000
SEEN_NS = 500_000_000
"""How long an estimate is good for, where nothing happens."""


class Doors(Protocol):
    """What says whether there is room (actors/admission.py)."""

    @property
    def ready(self) -> bool: ...

    def take_place(self, *, admitted: bool = False) -> None: ...

    def leave_place(self) -> None: ...


class Standing(Struct, frozen=True):
    """Where somebody stands who waits: `position` from 1, and for how long yet."""

    position: int
    estimated_wait_s: float
    length: int


class Seen(Struct, frozen=True):
    """What all who wait are told of the same line."""

    queue: Queue
    at_ns: int
    positions: dict[SessionId, int]
    waits_s: dict[SessionId, float]


class Ticket:
    """Of one caller. `moved` is called when its position may have changed, and when it has its place."""

    def __init__(self, reception: Reception, id_: str, session: SessionId, moved: Callable[[], None]) -> None:
        self._reception, self.id, self.session, self.moved = reception, id_, session, moved
        self.served = self.cancelled = False

    def standing(self) -> Standing | None:
        """None: it does not wait."""
        return self._reception.standing(self.session)

    def leave(self) -> None:
        """The caller is gone, and with it its place in line. Repeating is harmless, and so is leaving what is
        a session by now."""
        self._reception.leave(self)

    def give_back(self) -> None:
        """The place, after all: no session came of it."""
        self._reception.ended(self.session)


class Reception:
    """The line of one serving process. `alone`: there is no other."""

    def __init__(
        self, doors: Doors, now_ns: Callable[[], int], *, alone: bool = True, most: int = MOST_WAITING
    ) -> None:
        self.queue = Queue()
        self._doors, self._now_ns, self.alone, self.most = doors, now_ns, alone, most
        self._tickets: dict[SessionId, Ticket] = {}
        self._seen: Seen | None = None

    def arrive(self, session: SessionId, mode: str, owner: str | None, moved: Callable[[], None]) -> Ticket:
        """A place if there is one, else one in line. Raises CannotOpen `resource_exhausted`."""
        if session in self.queue.waiting or session in self.queue.served:
            raise CannotOpen("session_exists", "a session of that name has not ended: take another")
        ticket = Ticket(self, f"q_{secrets.token_hex(6)}", session, moved)
        if not self.queue.waiting and self._take(ticket, mode):
            return ticket
        if not self.alone:
            told = "all places are taken, and several processes have no line to wait in; try again later"
            raise CannotOpen("resource_exhausted", told)
        if len(self.queue.waiting) >= self.most:
            raise CannotOpen("resource_exhausted", f"Queue full ({self.most} requests)")
        self._tickets[session] = ticket
        self._happened(Queued(session, ticket.id, mode, owner))
        return ticket

    def began(self, session: SessionId, mode: str) -> None:
        """A session has a place here, whether it waited for it or not."""
        self._happened(Began(session, mode))

    def ended(self, session: SessionId) -> None:
        """Its place is free: it is the next one's."""
        self._doors.leave_place()
        self._happened(Ended(session))
        self.go_on()

    def go_on(self) -> None:
        """Give away what is free: called when something became so."""
        moved = False
        while self.queue.waiting and self._doors.ready:
            first = next(iter(self.queue.waiting.values()))
            if not self._take(self._tickets[first.session], first.mode):
                break
            moved = True
        if moved:
            self._tell()

    def leave(self, ticket: Ticket) -> None:
        if self._tickets.get(ticket.session) is ticket:
            del self._tickets[ticket.session]
            self._happened(Withdrawn(ticket.session))
            self._tell()

    def cancel(self, waiting: Waiting) -> None:
        """Send away somebody who waits."""
        ticket = self._tickets[waiting.session]
        ticket.cancelled = True
        ticket.leave()
        ticket.moved()

    def standing(self, session: SessionId) -> Standing | None:
        now_ns = self._now_ns()
        seen = self._seen
        if seen is None or seen.queue is not self.queue or now_ns - seen.at_ns > SEEN_NS:
            seen = self._seen = Seen(self.queue, now_ns, positions(self.queue), waits_s(self.queue, now_ns))
        place = seen.positions.get(session)
        if place is None:
            return None
        return Standing(place, round(seen.waits_s[session], 1), len(seen.positions))

    def _take(self, ticket: Ticket, mode: str) -> bool:
        try:
            self._doors.take_place()
        except CannotOpen:
            return False
        self._tickets.pop(ticket.session, None)
        ticket.served = True
        self._happened(Began(ticket.session, mode))
        ticket.moved()
        return True

    def _tell(self) -> None:
        for ticket in tuple(self._tickets.values()):
            ticket.moved()

    def _happened(self, fact: QueueFact) -> None:
        self.queue = evolve(self.queue, fact, self._now_ns())
