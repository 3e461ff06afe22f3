"""Configurations, units and cancels at the desk: in order, one at a time, and nothing on a wrong fence."""

from __future__ import annotations

import pytest

from antiphon.actors.desk.units import IMAGES_LIMIT
from antiphon.actors.link.window import HEAVY_LIMIT
from antiphon.actors.stages.contract import (
    Acknowledge,
    Cancel,
    CancelRefused,
    Close,
    Closed,
    ConfigRefused,
    Configure,
    Configured,
    Consumed,
    EngineRefused,
    Failed,
    Finished,
    Listen,
    Refused,
    Said,
)
from antiphon.events.ids import Operation
from antiphon.events.units import ms_to_samples

from .desk_bench import SESSION, Bench, NotingEngine, fence, listen, speak

UNIT = bytes(2 * ms_to_samples(1000))


def configure(generation: int) -> Configure:
    return Configure(fence(), generation, {"voice": f"voice {generation}"})


def confirming(*slow: str) -> Bench:
    bench = Bench(NotingEngine(confirms_config=True))
    bench.engine.slow = set(slow)
    return bench


def in_units() -> Bench:
    return Bench(NotingEngine(hears="continuously", unit_ms=1000, sees=True))


def unit(operation: int, epoch: int = 0, pcm: bytes = UNIT, images: tuple[bytes, ...] = ()) -> Listen:
    return Listen(fence(epoch), Operation(operation), 24_000 * operation, pcm, images=images)


def failures(bodies: list[object]) -> list[tuple[str, bool]]:
    return [(body.code, body.retryable) for body in bodies if isinstance(body, Failed)]


# --- configurations -----------------------------------------------------------------------------------------


def test_work_before_a_configuration_is_asked_before_it_and_work_after_it_when_it_is_decided() -> None:
    bench = confirming("configure")
    writer = bench.opened()
    writer.send(speak(5), configure(1), speak(6))
    assert bench.engine.calls == ["open", "speak", "configure"]

    bench.engine.pending.popleft().set_result(None)
    bench.run_posted()
    assert bench.engine.calls == ["open", "speak", "configure", "speak"]
    assert writer.told[1:] == [Configured(fence(), 1)]


def test_configurations_are_decided_one_after_the_other() -> None:
    bench = confirming("configure")
    writer = bench.opened()
    writer.send(configure(1), speak(5), configure(2), speak(6))
    bench.engine.pending.popleft().set_exception(EngineRefused("no_voice", "there is no voice 1"))
    bench.run_posted()
    assert bench.engine.calls == ["open", "configure", "speak", "configure"]
    bench.engine.pending.popleft().set_result(None)
    bench.run_posted()

    assert bench.engine.asked == [5, 6]
    assert writer.told[1:] == [
        ConfigRefused(fence(), 1, "no_voice", "there is no voice 1"),
        Configured(fence(), 2),
    ]


def test_an_engine_that_breaks_over_a_configuration_has_refused_it() -> None:
    bench = confirming()
    bench.engine.fail = {"configure"}
    writer = bench.opened()
    writer.send(configure(1), speak(5))
    assert isinstance(writer.told[1], ConfigRefused)
    assert writer.told[1].code == "engine_error"
    assert bench.engine.asked == [5]


def test_a_configuration_said_again_is_answered_again_and_asked_once() -> None:
    bench = confirming()
    writer = bench.opened()
    writer.send(configure(3))
    later = bench.writer()
    later.open(writer_epoch=2)
    later.send(configure(3))
    assert later.told[1:] == [Configured(fence(), 3)]
    assert bench.engine.calls.count("configure") == 1


def test_a_session_closed_over_its_configuration_leaves_when_that_is_decided() -> None:
    bench = confirming("configure")
    writer = bench.opened()
    writer.send(configure(1), speak(5), Close(fence(), "done"))
    assert bench.engine.calls == ["open", "configure"]
    bench.engine.pending.popleft().set_result(None)
    bench.run_posted()
    assert bench.engine.calls == ["open", "configure", "close"]
    assert writer.told[1:] == [Closed(fence())]


def test_a_cancel_does_not_wait_for_a_configuration() -> None:
    bench = confirming("configure")
    writer = bench.opened()
    writer.send(speak(5), configure(1), speak(6))
    writer.send(Cancel(fence(0), fence(1)))
    assert bench.engine.calls == ["open", "speak", "configure", "cancel"]
    bench.engine.pending.popleft().set_result(None)
    bench.run_posted()
    assert bench.engine.asked == [5]


def test_a_stage_that_confirms_nothing_is_not_asked() -> None:
    bench = Bench()
    writer = bench.opened()
    writer.send(configure(1))
    assert isinstance(writer.told[1], ConfigRefused)
    assert writer.told[1].code == "not_supported"
    assert bench.engine.calls == ["open"]


def test_a_session_that_is_not_open_is_not_configured() -> None:
    writer = confirming().writer()
    writer.send(configure(1))
    assert isinstance(writer.told[0], Refused)
    assert writer.told[0].code == "not_open"


# --- units --------------------------------------------------------------------------------------------------


def test_a_second_unit_is_refused_while_one_is_under_way_and_the_first_is_not_disturbed() -> None:
    bench = in_units()
    writer = bench.opened()
    writer.send(unit(5), unit(6))
    assert bench.engine.asked == [5]
    assert failures(writer.bodies) == [("busy", True)]
    assert (writer.outputs[0].operation, writer.outputs[0].last) == (6, True)

    bench.engine.emit(fence(), Operation(5), Said("heard"))
    bench.engine.emit(fence(), Operation(5), Consumed(), last=True)
    bench.run_posted()
    writer.send(unit(7))
    assert bench.engine.asked == [5, 7]
    assert writer.bodies[1:] == [Said("heard"), Consumed()]


def test_a_unit_of_the_next_epoch_need_not_wait_for_a_void_one() -> None:
    bench = in_units()
    writer = bench.opened()
    writer.send(unit(5))
    writer.send(Cancel(fence(0), fence(1)), unit(6, 1))
    assert bench.engine.asked == [5, 6]
    assert writer.bodies == []


def test_other_work_is_asked_beside_a_unit() -> None:
    bench = in_units()
    writer = bench.opened()
    writer.send(unit(5), speak(6))
    assert bench.engine.asked == [5, 6]


@pytest.mark.parametrize("pcm", [UNIT[:-2], UNIT + b"\0\0", b""])
def test_a_unit_is_exactly_as_long_as_the_stage_says(pcm: bytes) -> None:
    bench = in_units()
    writer = bench.opened()
    writer.send(unit(5, pcm=pcm), unit(6))
    assert failures(writer.bodies) == [("bad_audio", False)]
    assert bench.engine.asked == [6]


def test_a_stage_that_sees_nothing_is_shown_nothing() -> None:
    bench = Bench(NotingEngine(hears="continuously"))
    writer = bench.opened()
    writer.send(unit(5, images=(b"a picture",)))
    assert failures(writer.bodies) == [("not_supported", False)]
    assert bench.engine.asked == []


def test_images_are_bounded_in_bytes() -> None:
    bench = in_units()
    writer = bench.opened()
    half = bytes(IMAGES_LIMIT // 2)
    writer.send(unit(5, images=(half, half)))
    bench.engine.emit(fence(), Operation(5), Consumed(), last=True)
    bench.run_posted()
    writer.send(unit(6, images=(half, half, b"more")))
    assert bench.engine.asked == [5]
    assert failures(writer.bodies) == [("too_large", False)]


# --- what a session may have at the stage -------------------------------------------------------------------


def test_a_session_has_only_so_many_bytes_at_the_stage_that_are_not_in_the_log() -> None:
    bench = Bench()
    writer = bench.opened()

    def utterance(operation: int) -> Listen:
        return Listen(fence(), Operation(operation), 0, bytes(HEAVY_LIMIT // 2), whole=True)

    writer.send(utterance(5), utterance(6), utterance(7), listen(8, whole=True))
    assert bench.engine.asked == [5, 6, 8]
    assert failures(writer.bodies) == [("busy", True)]

    bench.engine.emit(fence(), Operation(5), Finished(), last=True)
    bench.run_posted()
    writer.send(Acknowledge(SESSION, 2), utterance(9))
    assert bench.engine.asked == [5, 6, 8, 9]


# --- cancels ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("following", [None, fence(0), fence(1, session="another's")])
def test_a_cancel_without_a_later_moment_of_the_session_voids_and_releases_nothing(following: object) -> None:
    """Case 29."""
    bench = Bench()
    writer = bench.opened()
    writer.send(speak(5))
    writer.send(Cancel(fence(0), following))  # type: ignore[arg-type]
    assert isinstance(writer.told[1], CancelRefused)
    assert bench.engine.calls == ["open", "speak"]

    bench.engine.emit(fence(), Operation(5), Finished(), last=True)
    bench.run_posted()
    assert writer.bodies == [Finished()]
