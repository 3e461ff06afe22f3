"""What conversations amount to."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.events.ids import Fence, Operation, ResponseId, SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.segments.frame import FRAME_SIZE, HEADER_SIZE
from antiphon.events.segments.log import SegmentLog
from antiphon.events.units import Millis
from antiphon.events.vocabulary import EpochAdvanced, StageMeasured
from antiphon.replay.inspect.summary import Summary
from antiphon.replay.sources import of_session
from antiphon.replay.stats import Counting, Spread, Stats
from antiphon.replay.turns import course_of

from .calls import Call, tone


def counted(*calls: Call) -> Stats:
    counting = Counting()
    for call in calls:
        incarnation = call.lease.incarnation
        counting.add(call.session, call.log.read(call.session, incarnation=incarnation))
    return counting.stats()


def conversation(log: MemoryLog | SegmentLog, *, first_ms: float = 300, heard_ms: int = 500) -> Call:
    """A second in, a second out; the first sound `first_ms` after the answer began."""
    call = Call(log)
    call.hear(1_000, tone(24_000))
    call.answer(1_000)
    call.speak(1_100, tone(12_000))
    call.speak(1_100, tone(12_000))
    call.say(1_100, StageMeasured(operation=Operation(0), index=0, name="speak_ms", value_ms=Millis(90)))
    call.sent(1_000 + first_ms, 12_000, first_ms=1_000 + first_ms)
    call.sent(1_600, 24_000, first_ms=1_000 + first_ms)
    call.end_answer(1_700)
    call.heard(2_000, heard_ms)
    call.hang_up(3_000)
    return call


def test_a_conversation_is_counted() -> None:
    stats = counted(conversation(MemoryLog()))
    assert (stats.lives, stats.events, stats.seconds) == (1, 12, 3.0)
    assert (stats.input_s, stats.generated_s, stats.sent_s, stats.heard_s) == (1.0, 1.0, 1.0, 0.5)
    assert (stats.responses, stats.outcomes, stats.interruptions) == (1, {"completed": 1}, 0)
    assert stats.first_audio == Spread(1, 300.0, 300.0)
    assert stats.stages == {"speak_ms": Spread(1, 90.0, 90.0)}
    assert (stats.kinds["AudioSpoken"].count, stats.kinds["AudioSpoken"].audio_bytes) == (2, 48_000)


def test_conversations_add_up() -> None:
    log = MemoryLog()
    stats = counted(*(conversation(log, first_ms=ms) for ms in (100, 200, 300, 400, 1_000)))
    assert (stats.lives, stats.responses, stats.heard_s) == (5, 5, 2.5)
    assert stats.first_audio == Spread(5, 300.0, 1_000.0)


def test_how_long_answers_took_is_told_of_each_life_and_of_all() -> None:
    log = MemoryLog()
    calls = []
    for k, ms in enumerate((100, 300)):
        call = Call(log, f"sess_{k}")
        call.answer(0)
        for name, value, each in (("first_token_ms", ms, ()), ("token_gaps_ms", 30, (10_000, 20_000))):
            measured = StageMeasured(
                operation=Operation(0), index=0, name=name, value_ms=Millis(value), each_us=each
            )
            call.say(ms, measured)
        call.speak(ms, tone(2_400))
        call.sent(ms + 5, 2_400, first_ms=ms + 5)
        call.end_answer(ms + 10)
        call.hang_up(1_000)
        calls.append(call)
    stats = counted(*calls)
    assert stats.clocks.responses == {"completed": 2}
    assert [stats.clocks.stage[name].count for name in ("first_token_ms", "between_tokens_ms")] == [2, 4]
    assert stats.clocks.stage["first_token_ms"].mean == 200.0
    assert [(one.session, one.clocks.stage["first_token_ms"].p50) for one in stats.each] == [
        ("sess_0", 100.0),
        ("sess_1", 300.0),
    ]
    assert stats.clocks.server["created_to_first_audio_ms"].max == 300.0


def test_breaking_in_is_counted_and_what_was_cut_off_was_not_heard() -> None:
    call = Call(MemoryLog())
    call.answer(0)
    call.speak(10, tone(24_000))
    call.sent(20, 24_000, first_ms=20)
    fence = Fence(call.session, 0, 0, 1, ResponseId("resp_1"))
    following = Fence(call.session, 0, 1, 1, None)
    call.say(270, EpochAdvanced(cancelled=fence, next=following, reason="turn_detected"))
    call.truncate(270, 250)
    call.end_answer(270, outcome="cancelled", reason="turn_detected")
    call.hang_up(400)
    stats = counted(call)
    assert (stats.interruptions, stats.outcomes) == (1, {"cancelled": 1})
    assert (stats.generated_s, stats.heard_s) == (1.0, 0.25)


@pytest.mark.parametrize("reason", ["turn_detected", "barge_in"])
def test_breaking_in_is_counted_alike_wherever_it_is_shown(reason: str) -> None:
    """Whoever let the user in: server VAD, the client, or the policy of a duplex session."""
    call = Call(MemoryLog())
    call.answer(0)
    fence = Fence(call.session, 0, 0, 1, ResponseId("resp_1"))
    for epoch, why in enumerate((reason, "client_cancelled")):
        following = Fence(call.session, 0, epoch + 1, 1, None)
        call.say(100, EpochAdvanced(cancelled=fence, next=following, reason=why))
        fence = following
    call.hang_up(400)
    summary = Summary()
    for stored in call.log.read(call.session):
        summary.take(stored)
    course = course_of(next(of_session(call.log, call.session)))
    assert (counted(call).interruptions, summary.interruptions, course.interrupted) == (1, 1, 1)


def test_the_bytes_of_the_events_are_those_of_the_file(tmp_path: Path) -> None:
    """But for the header, the frames, and the seal."""
    call = conversation(SegmentLog(tmp_path, deliver=lambda call: call()))
    stats = counted(call)
    [events] = tmp_path.glob("sessions/*/*/0/events.log")
    content = events.read_bytes()
    seal = len(content) - content.rindex(b"\x95\xa5ended")
    frames = FRAME_SIZE * (stats.events + 1)
    assert sum(kind.bytes for kind in stats.kinds.values()) == len(content) - HEADER_SIZE - frames - seal


def test_nothing_is_counted_of_nothing() -> None:
    stats = Counting().stats()
    assert (stats.lives, stats.events, stats.first_audio, stats.kinds) == (0, 0, None, {})


def test_what_precedes_damage_counts(tmp_path: Path) -> None:
    call = conversation(MemoryLog())
    counting = Counting()

    def damaged() -> object:
        yield from list(call.log.read(call.session))[:8]
        raise OSError("no further")

    with pytest.raises(OSError, match="no further"):
        counting.add(SessionId("sess_call"), damaged())  # type: ignore[arg-type]
    stats = counting.stats()
    assert (stats.events, stats.generated_s, stats.responses) == (8, 1.0, 1)


@given(st.lists(st.floats(0, 10_000), min_size=1))
def test_half_of_what_was_measured_is_below_the_median_and_nine_tenths_are_within_the_p90(
    values: list[float],
) -> None:
    spread = Spread.of(values)
    assert spread is not None
    slack = 0.06
    assert sum(value <= spread.median_ms + slack for value in values) >= len(values) / 2
    assert sum(value >= spread.median_ms - slack for value in values) >= len(values) / 2
    assert sum(value <= spread.p90_ms + slack for value in values) >= 0.9 * len(values)
    assert any(abs(value - spread.p90_ms) <= slack for value in values)
