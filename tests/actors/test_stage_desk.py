"""What every engine gets from the desk: fences, numbers, one answer each, takeover, places."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from antiphon.actors.desk import desk, sessions
from antiphon.actors.link.codec import WINDOW
from antiphon.actors.stages.contract import (
    Acknowledge,
    Cancel,
    Cancelled,
    CancelRefused,
    Close,
    Closed,
    EngineRefused,
    Failed,
    Finished,
    Heard,
    Open,
    Opened,
    Output,
    Refused,
    Said,
)
from antiphon.events.ids import Fence, Operation

from .desk_bench import SESSION, Bench, NotingEngine, fence, listen, speak


def failure(body: object) -> str:
    assert isinstance(body, Failed)
    return body.code


def test_outputs_are_numbered_over_the_session_and_indexed_within_their_operation() -> None:
    bench = Bench()
    writer = bench.opened()
    writer.send(speak(5), listen(6, whole=True))

    bench.engine.emit(fence(), Operation(5), Said("one"))
    bench.engine.emit(fence(), Operation(6), Heard("two"), last=True)
    bench.engine.emit(fence(), Operation(5), Finished(), last=True)
    bench.run_posted()

    places = [(said.operation, said.number, said.index, said.last) for said in writer.outputs]
    assert places == [(5, 1, 0, False), (6, 2, 0, True), (5, 3, 1, True)]


def test_an_engines_output_reaches_the_writer_only_through_post() -> None:
    bench = Bench()
    writer = bench.opened()
    writer.send(speak(5))

    bench.engine.emit(fence(), Operation(5), Finished(), last=True)

    assert writer.outputs == []
    bench.run_posted()
    assert writer.bodies == [Finished()]


def test_the_same_operation_asked_again_is_done_once() -> None:
    bench = Bench()
    writer = bench.opened()
    writer.send(speak(5), speak(5))
    bench.engine.emit(fence(), Operation(5), Finished(), last=True)
    bench.run_posted()
    writer.send(speak(5), Acknowledge(SESSION, 1), speak(5))

    assert bench.engine.asked == [5]
    assert writer.bodies == [Finished()]


def test_output_side_work_of_an_earlier_epoch_is_refused() -> None:
    bench = Bench()
    writer = bench.opened()
    writer.send(Cancel(fence(0), fence(1)))
    writer.send(speak(5, 0))

    assert bench.engine.asked == []
    assert [failure(body) for body in writer.bodies] == ["stale_fence"]
    assert writer.outputs[0].last


def test_a_cancel_in_the_same_read_voids_the_work_before_it() -> None:
    bench = Bench()
    writer = bench.opened()
    writer.send(speak(5, 0), Cancel(fence(0), fence(1)))

    assert bench.engine.asked == []
    assert [failure(body) for body in writer.bodies] == ["stale_fence"]


@pytest.mark.parametrize("role", ["voice", "model"])
def test_the_users_own_words_are_heard_across_a_cancel(role: str) -> None:
    bench = Bench(NotingEngine(role=role))  # type: ignore[arg-type]
    writer = bench.opened()
    writer.send(listen(5, 0, whole=role == "model"))
    writer.send(Cancel(fence(0), fence(1)))
    writer.send(listen(6, 0, whole=role == "model"))

    for operation in (5, 6):
        bench.engine.emit(fence(), Operation(operation), Heard("still"), last=True)
    bench.run_posted()

    assert bench.engine.asked == [5, 6]
    assert writer.bodies == [Heard("still"), Heard("still")]


def test_a_stream_piece_of_a_model_is_void_with_its_epoch() -> None:
    bench = Bench()
    writer = bench.opened()
    writer.send(Cancel(fence(0), fence(1)))
    writer.send(listen(5, 0))

    assert [failure(body) for body in writer.bodies] == ["stale_fence"]


def test_late_output_of_a_cancelled_epoch_is_dropped_and_counted() -> None:
    bench = Bench()
    writer = bench.opened()
    writer.send(speak(5))
    bench.engine.emit(fence(), Operation(5), Said("before"))
    bench.run_posted()
    bench.engine.emit(fence(), Operation(5), Said("posted before the cancel"))
    writer.send(Cancel(fence(0), fence(1)))
    bench.engine.emit(fence(), Operation(5), Finished(), last=True)
    bench.run_posted()

    assert writer.bodies == [Said("before")]
    assert writer.told[-1] == Cancelled(fence(0), fence(1))
    assert bench.desk.dropped_late == 2
    assert bench.engine.cancelled == [(Fence(SESSION, 1, 0, 1), fence(1))]


def test_cancelled_work_asked_again_gets_no_second_answer() -> None:
    bench = Bench()
    writer = bench.opened()
    writer.send(speak(5))
    bench.engine.emit(fence(), Operation(5), Said("before"))
    bench.run_posted()
    writer.send(Cancel(fence(0), fence(1)))
    writer.send(speak(5))

    assert writer.bodies == [Said("before")]
    assert bench.engine.asked == [5]


def test_a_late_cancel_is_answered_and_never_goes_back() -> None:
    bench = Bench()
    writer = bench.opened()
    writer.send(Cancel(fence(1), fence(2)))
    writer.send(Cancel(fence(0), fence(1)))
    writer.send(speak(5, 2))

    assert bench.engine.asked == [5]
    assert [told for told in writer.told if isinstance(told, Cancelled)] == [
        Cancelled(fence(1), fence(2)),
        Cancelled(fence(0), fence(1)),
    ]
    assert len(bench.engine.cancelled) == 1


def test_a_cancel_without_a_later_epoch_is_refused_and_voids_nothing() -> None:
    bench = Bench()
    writer = bench.opened()
    writer.send(speak(5))
    writer.send(Cancel(fence(0), fence(0)))
    bench.engine.emit(fence(), Operation(5), Finished(), last=True)
    bench.run_posted()

    assert isinstance(writer.told[1], CancelRefused)
    assert writer.bodies == [Finished()]


def test_a_later_writer_is_told_again_what_is_not_acknowledged() -> None:
    bench = Bench()
    first = bench.opened()
    first.send(speak(5))
    for text in ("one", "two", "three"):
        bench.engine.emit(fence(), Operation(5), Said(text))
    bench.run_posted()
    first.send(Acknowledge(SESSION, 1))

    second = bench.writer()
    second.open(writer_epoch=2)
    bench.engine.emit(fence(), Operation(5), Finished(), last=True)
    bench.run_posted()

    assert [said.number for said in second.outputs] == [2, 3, 4]
    assert len(first.outputs) == 3
    assert bench.engine.open_sessions == {SESSION}


def test_the_opening_tells_a_kept_session_from_a_new_one() -> None:
    bench = Bench()
    first = bench.opened()
    second = bench.writer()
    second.open(writer_epoch=2)
    second.send(Close(fence(), "done"))
    second.open(writer_epoch=3)

    openings = [told.engine for told in first.told + second.told if isinstance(told, Opened)]
    assert openings == ["noting-1/1", "noting-1/1", "noting-1/2"]


def test_the_same_writer_on_a_new_connection_is_told_again_and_on_the_same_one_is_not() -> None:
    bench = Bench()
    first = bench.opened()
    first.send(speak(5))
    bench.engine.emit(fence(), Operation(5), Finished(), last=True)
    bench.run_posted()

    first.open(writer_epoch=1)
    assert len(first.outputs) == 1

    first.lost()
    second = bench.writer()
    second.open(writer_epoch=1)
    assert [said.number for said in second.outputs] == [1]


def test_an_earlier_writer_is_refused_and_what_it_still_sends_is_dropped() -> None:
    bench = Bench()
    zombie = bench.opened()
    writer = bench.writer()
    writer.open(writer_epoch=2)

    zombie.send(speak(5), Cancel(fence(0), fence(1)), Acknowledge(SESSION, 9), Close(fence(), "zombie"))
    zombie.open(writer_epoch=1)

    assert bench.engine.asked == []
    assert bench.engine.open_sessions == {SESSION}
    assert bench.desk.dropped_zombie == 4
    assert zombie.told[1:] == [Refused(fence(), "fenced", "another writer has the session")]


def test_a_takeover_at_a_later_epoch_voids_what_was_said_before() -> None:
    bench = Bench()
    bench.opened().send(speak(5, 0))
    bench.engine.emit(fence(), Operation(5), Said("void"))
    bench.run_posted()

    writer = bench.writer()
    writer.open(2, fence(1))
    bench.engine.emit(fence(), Operation(5), Finished(), last=True)
    bench.run_posted()

    assert writer.outputs == []
    assert len(bench.engine.cancelled) == 1


def test_a_full_stage_refuses_and_may_be_asked_again_later() -> None:
    bench = Bench(NotingEngine(max_sessions=1))
    first, second = bench.opened(), bench.writer()
    second.open(at=fence(session="other"))

    assert isinstance(second.told[0], Refused)
    assert (second.told[0].code, second.told[0].retryable) == ("resource_exhausted", True)

    first.send(Close(fence(), "done"))
    second.open(at=fence(session="other"))
    assert isinstance(second.told[1], Opened)


def test_closing_answers_when_the_engine_has_let_go_and_drops_what_comes_later() -> None:
    bench = Bench()
    writer = bench.opened()
    writer.send(speak(5))
    writer.send(Close(fence(), "done"))
    bench.engine.emit(fence(), Operation(5), Finished(), last=True)
    bench.run_posted()

    assert bench.engine.open_sessions == set()
    assert writer.told[-1] == Closed(fence())
    assert bench.desk.dropped_late == 1
    assert len(bench.desk) == 0


def test_a_later_incarnation_replaces_an_earlier_one() -> None:
    bench = Bench()
    bench.opened().send(speak(5))
    writer = bench.writer()
    writer.open(1, fence(incarnation=2))
    bench.engine.emit(fence(), Operation(5), Finished(), last=True)
    bench.run_posted()

    assert writer.told == [Opened(fence(incarnation=2), "noting-1/2")]
    assert bench.engine.open_sessions == {SESSION}


def test_work_of_a_session_that_is_not_open_is_refused() -> None:
    bench = Bench()
    writer = bench.writer()
    writer.send(speak(5))

    assert isinstance(writer.told[0], Refused)
    assert writer.told[0].code == "not_open"


def test_an_engine_that_refuses_a_session_holds_no_place_for_it() -> None:
    bench = Bench()
    bench.engine.fail, bench.engine.error = {"open"}, EngineRefused("no_such_voice", "there is no voice 'x'")
    writer = bench.opened()

    assert writer.told == [Refused(fence(), "no_such_voice", "there is no voice 'x'")]
    assert len(bench.desk) == 0


def test_an_engine_that_raises_fails_that_operation_only() -> None:
    bench = Bench()
    bench.engine.fail = {"speak"}
    writer = bench.opened()
    writer.send(speak(5), listen(6, whole=True))

    assert [failure(body) for body in writer.bodies] == ["engine_error"]
    assert bench.engine.asked == [6]


def test_more_work_than_the_window_is_refused_as_busy_until_it_is_acknowledged() -> None:
    bench = Bench()
    writer = bench.opened()
    writer.send(*[speak(operation) for operation in range(WINDOW + 1)])
    assert len(bench.engine.asked) == WINDOW
    assert [failure(body) for body in writer.bodies] == ["busy"]

    bench.engine.emit(fence(), Operation(0), Finished(), last=True)
    bench.run_posted()
    writer.send(Acknowledge(SESSION, 2), speak(100))
    assert bench.engine.asked[-1] == 100


def test_a_session_that_acknowledges_nothing_gets_no_more_work_and_is_let_go_in_the_end() -> None:
    bench = Bench()
    writer = bench.opened()
    writer.send(speak(1))
    for _ in range(desk.RETAINED_SOFT):
        bench.engine.emit(fence(), Operation(1), Said("more"))
    bench.run_posted()
    writer.send(speak(2))
    assert failure(writer.bodies[-1]) == "busy"

    for _ in range(desk.RETAINED_HARD - desk.RETAINED_SOFT):
        bench.engine.emit(fence(), Operation(1), Said("more"))
    bench.run_posted()

    assert isinstance(writer.told[-1], Refused)
    assert writer.told[-1].code == "unacknowledged"
    assert len(bench.desk) == 0


def test_a_session_whose_writer_is_lost_keeps_its_place_for_a_while() -> None:
    bench = Bench()
    bench.opened().lost()
    bench.now = sessions.LINGER_S - 1
    bench.desk.expire()
    assert len(bench.desk) == 1

    bench.now = sessions.LINGER_S
    bench.desk.expire()
    assert len(bench.desk) == 0
    assert bench.engine.open_sessions == set()


def test_a_session_taken_over_in_time_does_not_expire() -> None:
    bench = Bench()
    bench.opened().lost()
    bench.writer().open(writer_epoch=2)
    bench.now = 10 * sessions.LINGER_S
    bench.desk.expire()

    assert len(bench.desk) == 1


def test_stopping_lets_every_session_go() -> None:
    bench = Bench()
    bench.opened()
    bench.desk.stop()

    assert bench.engine.open_sessions == set()
    assert bench.engine.stopped


@pytest.mark.parametrize("wrong", [{"contract": 99}, {"name": ""}, {"engine": ""}, {"max_sessions": 0}])
def test_a_descriptor_that_cannot_be_served_is_refused(wrong: dict[str, object]) -> None:
    engine = NotingEngine()
    engine.descriptor = replace(engine.descriptor, **wrong)

    with pytest.raises(EngineRefused) as refused:
        Bench(engine)
    assert refused.value.code == "runtime_contract_invalid"


def test_an_open_in_one_read_with_its_first_work_is_done_in_order() -> None:
    bench = Bench()
    writer = bench.writer()
    writer.send(Open(fence(), 1, {}), speak(5), Cancel(fence(0), fence(1)), speak(6, 1))

    assert bench.engine.asked == [5, 6]
    assert [type(told) for told in writer.told] == [Opened, Cancelled]
    assert not any(isinstance(told, Output) for told in writer.told)
