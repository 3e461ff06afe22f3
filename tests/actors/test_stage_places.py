"""Places at a stage: opening is whole or nothing, and a place is free when the engine has really let go."""

from __future__ import annotations

import pytest

from antiphon.actors.desk.departures import FIRST_PAUSE_S, LONGEST_PAUSE_S
from antiphon.actors.stages.contract import (
    Cancel,
    Cancelled,
    Close,
    Closed,
    EngineRefused,
    Finished,
    Open,
    Opened,
    Refused,
    StageMessage,
)
from antiphon.events.ids import Operation

from .desk_bench import SESSION, Bench, NotingEngine, Writer, fence, listen, speak


def codes(told: list[StageMessage]) -> list[str]:
    return [message.code for message in told if isinstance(message, Refused)]


def slow(*methods: str, max_sessions: int = 2) -> Bench:
    bench = Bench(NotingEngine(max_sessions=max_sessions))
    bench.engine.slow = set(methods)
    return bench


def answer(bench: Bench, error: Exception | None = None) -> None:
    """The engine is done with the oldest call that takes time."""
    pending = bench.engine.pending.popleft()
    if error is None:
        pending.set_result(None)
    else:
        pending.set_exception(error)
    bench.run_posted()


def other(bench: Bench, session: str) -> Writer:
    writer = bench.writer()
    writer.open(at=fence(session=session))
    return writer


# --- opening ------------------------------------------------------------------------------------------------


def test_work_asked_while_the_engine_opens_is_done_in_order_once_it_has() -> None:
    bench = slow("open")
    writer = bench.writer()
    writer.send(Open(fence(), 1, {}), speak(5), listen(6, whole=True))
    assert writer.told == []
    assert bench.engine.asked == []

    answer(bench)
    assert writer.told == [Opened(fence(), "noting-1/1")]
    assert bench.engine.asked == [5, 6]


def test_work_that_was_cancelled_while_the_engine_opened_is_never_begun() -> None:
    bench = slow("open")
    writer = bench.opened()
    writer.send(speak(5, 0))
    writer.send(Cancel(fence(0), fence(1)), speak(6, 1))
    answer(bench)

    assert bench.engine.asked == [6]
    assert bench.engine.calls == ["open", "cancel", "speak"]
    assert writer.told == [Cancelled(fence(0), fence(1)), Opened(fence(), "noting-1/1")]


@pytest.mark.parametrize(
    "error", [ZeroDivisionError(), EngineRefused("no_voice", "no voice 'x'")], ids=["broke", "refused"]
)
@pytest.mark.parametrize("at_once", [True, False])
def test_an_opening_that_fails_holds_nothing(error: Exception, at_once: bool) -> None:
    bench = slow(*(() if at_once else ("open",)), max_sessions=1)
    if at_once:
        bench.engine.fail, bench.engine.error = {"open"}, error
    writer = bench.opened()
    if not at_once:
        answer(bench, error)

    assert codes(writer.told) == ["no_voice" if isinstance(error, EngineRefused) else "engine_error"]
    assert len(bench.desk) == 0
    assert bench.engine.calls == (["open"] if isinstance(error, EngineRefused) else ["open", "close"])
    bench.engine.fail.clear()
    bench.engine.slow.clear()
    assert isinstance(other(bench, "next").told[0], Opened)


def test_an_opening_counts_from_the_moment_it_is_asked_for() -> None:
    bench = slow("open", max_sessions=1)
    bench.opened()
    assert codes(other(bench, "second").told) == ["resource_exhausted"]


@pytest.mark.parametrize("error", [None, ZeroDivisionError(), EngineRefused("no_voice", "no voice 'x'")])
def test_an_abandoned_opening_is_closed_when_it_arrives(error: Exception | None) -> None:
    bench = slow("open", max_sessions=1)
    writer = bench.opened()
    writer.send(speak(5), Close(fence(), "client_close"))
    assert bench.engine.calls == ["open"]
    assert len(bench.desk) == 1

    answer(bench, error)
    assert writer.told == [Closed(fence())]
    assert bench.engine.calls == (["open"] if isinstance(error, EngineRefused) else ["open", "close"])
    assert len(bench.desk) == 0


def test_a_writer_that_takes_over_an_opening_is_the_one_that_is_told() -> None:
    bench = slow("open")
    first = bench.opened()
    first.lost()
    second = bench.writer()
    second.open(writer_epoch=2)
    answer(bench)

    assert first.told == []
    assert second.told == [Opened(fence(), "noting-1/1")]


# --- closing ------------------------------------------------------------------------------------------------


def test_a_third_session_is_refused_until_the_engine_has_let_go_of_one() -> None:
    """Case 28: a blocked cleanup keeps the slot."""
    bench = slow("close")
    first, _ = bench.opened(), other(bench, "second")
    assert codes(other(bench, "third").told) == ["resource_exhausted"]

    first.send(Close(fence(), "done"))
    assert Closed(fence()) not in first.told
    assert codes(other(bench, "third").told) == ["resource_exhausted"]

    answer(bench)
    assert first.told[-1] == Closed(fence())
    assert isinstance(other(bench, "third").told[0], Opened)


def test_a_cleanup_that_fails_keeps_the_place_and_is_tried_again_ever_less_often() -> None:
    bench = Bench(NotingEngine(max_sessions=1))
    writer = bench.opened()
    bench.engine.fail = {"close"}
    writer.send(Close(fence(), "done"))
    for pause in (FIRST_PAUSE_S, 1.0, 2.0, 4.0, 8.0, 16.0, LONGEST_PAUSE_S, LONGEST_PAUSE_S):
        asked = len(bench.engine.calls)
        bench.now += pause - 0.25
        bench.desk.expire()
        assert len(bench.engine.calls) == asked
        bench.now += 0.25
        bench.desk.expire()
        assert len(bench.engine.calls) == asked + 1
    assert len(bench.desk) == 1
    assert Closed(fence()) not in writer.told

    bench.engine.fail.clear()
    bench.now += LONGEST_PAUSE_S
    bench.desk.expire()
    assert writer.told[-1] == Closed(fence())
    assert len(bench.desk) == 0


def test_closing_again_while_the_engine_lets_go_asks_it_nothing_and_is_answered_with_the_first() -> None:
    bench = slow("close")
    writer = bench.opened()
    writer.send(Close(fence(), "done"), Close(fence(), "done"))
    assert bench.engine.calls == ["open", "close"]
    answer(bench)
    assert writer.told[1:] == [Closed(fence()), Closed(fence())]


def test_what_is_said_or_asked_of_a_session_on_its_way_out_has_no_effect() -> None:
    bench = slow("close")
    writer = bench.opened()
    writer.send(speak(5), Close(fence(), "done"))
    bench.engine.emit(fence(), Operation(5), Finished(), last=True)
    bench.run_posted()
    writer.send(speak(6))

    assert writer.outputs == []
    assert bench.engine.asked == [5]
    assert codes(writer.told) == ["not_open"]
    assert bench.desk.dropped_late == 1


@pytest.mark.parametrize("incarnation", [1, 2])
def test_the_same_session_is_not_opened_again_before_it_is_gone(incarnation: int) -> None:
    bench = slow("close")
    writer = bench.opened()
    writer.send(Close(fence(), "done"))
    again = Open(fence(incarnation=incarnation), 2, {})
    writer.send(again)
    assert codes(writer.told) == ["resource_exhausted"]

    answer(bench)
    writer.send(again)
    assert writer.told[-1] == Opened(fence(incarnation=incarnation), "noting-1/2")


def test_a_hundred_sessions_leave_as_many_places_as_there_were() -> None:
    bench = slow("close", max_sessions=1)
    for n in range(100):
        writer = other(bench, f"session {n}")
        assert isinstance(writer.told[0], Opened)
        writer.send(Close(fence(session=f"session {n}"), "done"))
        answer(bench)
        assert len(bench.desk) == 0
    assert bench.engine.open_sessions == set()


# --- lost peers ---------------------------------------------------------------------------------------------


def test_who_comes_gets_the_place_of_the_session_that_has_waited_longest_for_its_writer() -> None:
    bench = slow(max_sessions=2)
    first, second = bench.opened(), other(bench, "second")
    second.lost()
    first.lost()

    third = other(bench, "third")
    assert isinstance(third.told[0], Opened)
    assert bench.engine.open_sessions == {SESSION, "third"}

    back = bench.writer()
    back.open(writer_epoch=2)
    assert back.told == [Opened(fence(), "noting-1/1")]  # it was kept, and nobody gives way any more
    assert codes(other(bench, "fourth").told) == ["resource_exhausted"]


def test_an_engine_that_takes_time_to_let_go_has_room_for_the_next_that_tries() -> None:
    bench = slow("close", max_sessions=1)
    bench.opened().lost()
    assert codes(other(bench, "early").told) == ["resource_exhausted"]
    assert bench.engine.calls[-1] == "close"

    answer(bench)
    assert isinstance(other(bench, "late").told[0], Opened)


# --- cleaning up after a cancel -----------------------------------------------------------------------------


def test_a_cancel_whose_cleanup_failed_is_cleaned_up_when_it_is_said_again() -> None:
    bench = Bench()
    writer = bench.opened()
    bench.engine.fail = {"cancel"}
    writer.send(speak(5), listen(6, whole=True))
    writer.send(Cancel(fence(0), fence(1)))
    assert bench.engine.cancelled == []

    bench.engine.fail.clear()
    writer.send(Cancel(fence(0), fence(1)), Cancel(fence(0), fence(1)))
    assert [(old.epoch, new.epoch) for old, new in bench.engine.cancelled] == [(0, 1)]
    assert [type(told) for told in writer.told] == [Opened, Cancelled, Cancelled, Cancelled]
    writer.send(speak(7, 1))
    assert bench.engine.asked == [5, 6, 7]
    assert SESSION in bench.desk.sessions.of
