"""The line before the places: whatever comes and goes, everybody is told the right position."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.actors.admission import CannotOpen
from antiphon.actors.queueing.reception import Reception, Ticket
from antiphon.events.ids import SessionId

SECOND_NS = 1_000_000_000


class Doors:
    """So many places, and nothing else."""

    def __init__(self, places: int) -> None:
        self.free, self.ready = places, True

    def take_place(self, *, admitted: bool = False) -> None:
        if not self.free:
            raise CannotOpen("resource_exhausted", "full")
        self.free -= 1

    def leave_place(self) -> None:
        self.free += 1


class Hall:
    """A reception under test, its clock, and an account of its own of who waits."""

    def __init__(self, places: int = 1, **options: bool | int) -> None:
        self.now_ns = 0
        self.places, self.doors = places, Doors(places)
        self.reception = Reception(self.doors, lambda: self.now_ns, **options)  # type: ignore[arg-type]
        self.served: list[Ticket] = []
        self.line: list[Ticket] = []
        self._came = 0

    def comes(self, mode: str = "half_duplex") -> Ticket:
        self._came += 1
        session = SessionId(f"s{self._came}")
        ticket = self.reception.arrive(session, mode, None, lambda: None)
        (self.line if len(self.served) >= self.places else self.served).append(ticket)
        return ticket

    def goes(self, ticket: Ticket) -> None:
        """Out of the line."""
        self.line.remove(ticket)
        ticket.leave()

    def ends(self, ticket: Ticket) -> None:
        """A session is over; who is first takes its place."""
        self.served.remove(ticket)
        self.reception.ended(ticket.session)
        if self.line and self.doors.ready:
            self.served.append(self.line.pop(0))

    def check(self) -> None:
        for place, ticket in enumerate(self.line, 1):
            standing = ticket.standing()
            assert standing is not None
            assert (standing.position, standing.length) == (place, len(self.line))
            assert not ticket.served
        assert all(ticket.served and ticket.standing() is None for ticket in self.served)
        assert self.doors.free == self.places - len(self.served)
        waits = [ticket.standing().estimated_wait_s for ticket in self.line]  # type: ignore[union-attr]
        assert waits == sorted(waits), "nobody behind is served before somebody in front"


def wait_of(ticket: Ticket) -> float:
    standing = ticket.standing()
    assert standing is not None
    return standing.estimated_wait_s


def after(hall: Hall, seconds: float) -> None:
    hall.now_ns += int(seconds * SECOND_NS)


# --- positions --------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(
    places=st.integers(1, 5),
    acts=st.lists(st.tuples(st.sampled_from("cccgea"), st.integers(0, 1_000)), max_size=120),
)
def test_positions_are_right_whoever_comes_and_goes(places: int, acts: list[tuple[str, int]]) -> None:
    hall = Hall(places)
    for act, n in acts:
        if act == "c":
            hall.comes(("half_duplex", "duplex", "video")[n % 3])
        elif act == "g" and hall.line:
            hall.goes(hall.line[n % len(hall.line)])
        elif act == "e" and hall.served:
            hall.ends(hall.served[n % len(hall.served)])
        after(hall, n)
        hall.check()


def test_a_thousand_wait_and_half_of_them_give_up_and_none_is_told_wrong() -> None:
    hall = Hall(4)
    for _ in range(1_004):
        hall.comes()
    with pytest.raises(CannotOpen, match=r"Queue full \(1000 requests\)"):
        hall.comes()
    hall.check()
    for k in range(500):
        hall.goes(hall.line[(k * 7_919) % len(hall.line)])
        if k % 5 == 0:
            hall.ends(hall.served[k % 4])
            hall.comes()
        after(hall, 1)
        if k % 25 == 0:
            hall.check()
    hall.check()
    assert len(hall.line) == 500


def test_who_goes_twice_or_after_being_served_changes_nothing() -> None:
    hall = Hall()
    first, second, third = hall.comes(), hall.comes(), hall.comes()
    hall.goes(second)
    second.leave()
    first.leave()
    hall.check()
    assert third.standing() is not None


def test_nobody_is_served_while_the_stages_are_away_and_the_first_when_they_are_back() -> None:
    hall = Hall()
    first, second, third = hall.comes(), hall.comes(), hall.comes()
    hall.doors.ready = False
    hall.ends(first)
    hall.check()
    hall.doors.ready = True
    hall.reception.go_on()
    assert second.served
    assert not third.served


def test_several_processes_have_no_line_and_say_so() -> None:
    hall = Hall(alone=False)
    hall.comes()
    with pytest.raises(CannotOpen, match="no line"):
        hall.comes()


def test_a_name_stands_in_the_line_once() -> None:
    hall = Hall()
    hall.comes()
    waiting = hall.comes()
    with pytest.raises(CannotOpen) as refused:
        hall.reception.arrive(waiting.session, "half_duplex", None, lambda: None)
    assert refused.value.code == "session_exists"


def test_who_is_sent_away_is_told_and_the_others_move_up() -> None:
    hall = Hall()
    hall.comes()
    told: list[str] = []
    waiting = hall.reception.arrive(SessionId("a"), "half_duplex", None, lambda: told.append("a"))
    behind = hall.reception.arrive(SessionId("b"), "half_duplex", None, lambda: told.append("b"))
    told.clear()
    hall.reception.cancel(next(iter(hall.reception.queue.waiting.values())))
    assert waiting.cancelled
    assert set(told) == {"a", "b"}
    assert behind.standing().position == 1  # type: ignore[union-attr]


# --- the estimate -----------------------------------------------------------------------------------------


def test_the_first_waits_for_what_is_left_of_the_call_before_it() -> None:
    hall = Hall()
    hall.comes()
    after(hall, 60)
    first, second = hall.comes(), hall.comes()
    assert wait_of(first) == 120.0
    assert wait_of(second) == 300.0


def test_a_call_that_takes_longer_than_usual_is_given_a_little_more() -> None:
    hall = Hall()
    hall.comes()
    after(hall, 500)
    assert wait_of(hall.comes()) == 15.0


def test_each_who_waits_takes_the_place_that_is_free_first() -> None:
    hall = Hall(2)
    hall.comes()
    after(hall, 30)
    hall.comes("duplex")
    waits = [wait_of(ticket) for ticket in (hall.comes(), hall.comes(), hall.comes())]
    assert waits == [120.0, 150.0, 300.0]


def test_after_three_calls_their_own_durations_count_and_the_latest_most() -> None:
    hall = Hall()
    for seconds in (10, 20, 40):
        ticket = hall.comes()
        after(hall, seconds)
        hall.ends(ticket)
    hall.comes()
    average = 10 + 0.3 * (20 - 10)
    average += 0.3 * (40 - average)
    assert wait_of(hall.comes()) == pytest.approx(average, abs=0.1)


def test_where_nobody_is_served_nobody_knows() -> None:
    hall = Hall(0)
    hall.doors.ready = False
    assert wait_of(hall.comes()) == 0.0
