"""What answers took: credited to the response that earned it, on the clock that it was measured on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.actors.session import commands as c
from antiphon.events.envelope import Stored
from antiphon.events.ids import Fence, ItemId, Operation, ResponseId, Seq, SessionId
from antiphon.events.units import Millis, Moment, Samples
from antiphon.events.vocabulary import (
    AudioSent,
    AudioSpoken,
    Event,
    FramesSent,
    InputCommitted,
    ModelListened,
    ResponseCreated,
    ResponseEnded,
    StageMeasured,
    UnitCompleted,
    UnitSubmitted,
    Usage,
    WriterOpened,
)
from antiphon.projections.figures import Figures, figures
from antiphon.projections.measures import MOST_GAPS, RECENT, Measures, step
from antiphon.projections.summary import of_response, of_session
from tests.actors.session.duplex import Asked, InUnits
from tests.actors.session.given import Talk


def measured(talk: Talk) -> Measures:
    measures = Measures()
    for stored in talk.stored:
        measures = step(measures, stored)
    return measures


def measure(talk: InUnits, name: str, value_ms: int, *each_us: int) -> None:
    word = talk.word(last=False)
    talk.do(c.RecordMeasure(name=name, value_ms=value_ms, each_us=each_us, **word))


# --- by the core's own conversations ------------------------------------------------------------------------


def test_a_measurement_without_a_response_stays_with_its_unit_and_is_never_the_next_ones() -> None:
    """Case X of section 14: the reference credits it to the next response that is spoken."""
    talk = InUnits()
    talk.talk_for(1_000)
    measure(talk, "first_token_ms", 31)
    measure(talk, "token_gaps_ms", 20, 20_000)
    talk.model_listens()
    talk.talk_for(1_000)
    measure(talk, "first_token_ms", 44)
    talk.model_says()

    measures = measured(talk)
    (answer,) = measures.answers
    assert (answer.first_token_ms, answer.gaps_us) == (44, ())
    assert measures.unspoken.first_token_ms == (31,)
    assert measures.unspoken.gaps_us == (20_000,)


def test_what_was_measured_before_the_response_was_created_is_its_own() -> None:
    talk = InUnits()
    talk.talk_for(1_000)
    measure(talk, "first_token_ms", 44)
    measure(talk, "token_gaps_ms", 31, 15_000, 16_000)
    talk.model_says(last=False)
    measure(talk, "token_gaps_ms", 17, 17_000)
    talk.unit_ends()
    (answer,) = measured(talk).answers
    assert (answer.first_token_ms, answer.gaps_us) == (44, (15_000, 16_000, 17_000))
    assert measured(talk).pending == ()


def test_over_several_units_the_first_token_is_the_first_units_and_the_rest_adds_up() -> None:
    talk = InUnits()
    for first_ms, gap_us in ((44, 15_000), (12, 17_000)):
        talk.talk_for(1_000)
        measure(talk, "first_token_ms", first_ms)
        measure(talk, "token_gaps_ms", gap_us // 1000, gap_us)
        talk.model_says()
    (answer,) = measured(talk).answers
    assert answer.first_token_ms == 44
    stage = of_response(answer).stage
    assert stage.per_token_ms == 16.0
    assert stage.between_tokens_ms == Figures(count=2, mean=16.0, p50=15.0, p95=17.0, p99=17.0, max=17.0)


def test_the_servers_clock_counts_from_the_unit_the_commit_and_the_creation() -> None:
    talk = InUnits()
    talk.talk_for(800)
    talk.commit()
    talk.now_ms += 120
    talk.model_says(ms=500)
    talk.now_ms += 30
    talk.send(500)
    server = of_response(measured(talk).answers[0]).server
    assert server.asked_to_first_output_ms == server.asked_to_first_audio_ms == 120.0
    assert server.commit_to_first_audio_ms == 120.0
    assert server.created_to_first_audio_ms == 0.0
    assert server.asked_to_sent_ms == server.commit_to_sent_ms == 150.0
    assert (server.audio_ms, server.generation_ms, server.real_time_factor) == (500.0, 120.0, 0.24)


def test_an_answer_that_was_asked_for_is_measured_from_the_question() -> None:
    talk = Asked()
    talk.talk_for(1_000)
    talk.commit(respond=True)
    talk.now_ms += 40
    talk.understand("hello")
    operation = talk.active.operation
    assert operation is not None
    word = {"operation": operation, "epoch": talk.state.fence.epoch, "last": False}
    talk.now_ms += 200
    talk.do(c.RecordMeasure(name="first_token_ms", value_ms=90, index=0, **word))
    talk.say("One two three.", 1_000)
    talk.now_ms += 100
    talk.say("Four.", 500)
    talk.finish()
    (answer,) = measured(talk).answers
    clocks = of_response(answer)
    assert clocks.stage.first_token_ms == 90
    assert clocks.server.asked_to_first_audio_ms == 200.0
    assert clocks.server.commit_to_first_audio_ms == 240.0
    assert (clocks.server.audio_ms, clocks.server.generation_ms) == (1_500.0, 300.0)
    assert answer.outcome == "completed"


def test_a_deferred_item_is_measured_from_its_own_commit() -> None:
    talk = Asked().speaking()
    talk.talk_for(1_400)
    talk.commit(respond=True)
    talk.now_ms += 500
    talk.finish()
    talk.understand("and then?")
    talk.now_ms += 60
    talk.say("Then.", 400)
    _, second = measured(talk).answers
    assert of_response(second).server.commit_to_first_audio_ms == 560.0


# --- by logs written by hand --------------------------------------------------------------------------------


SESSION = SessionId("s")
FENCE = Fence(SESSION, 1, 0, 0)


class Written:
    """A log as it could be: each event so many milliseconds after the one before it."""

    def __init__(self) -> None:
        self.measures = Measures()
        self.seq = 0
        self.now_ms = 5_000

    def __call__(self, event: Event, after_ms: int = 0) -> Operation:
        self.now_ms += after_ms
        at = Moment(self.now_ms * 1_000_000, 10**18)
        self.measures = step(self.measures, Stored(Seq(self.seq), at, event))
        self.seq += 1
        return Operation(self.seq - 1)

    def created(self, n: int) -> ResponseId:
        response = ResponseId(f"r{n}")
        self(ResponseCreated(response=response, item=ItemId(f"i{n}"), fence=FENCE))
        return response

    def spoke(self, response: ResponseId, operation: Operation, until: int = 240, after_ms: int = 0) -> None:
        piece = AudioSpoken(
            response=response, samples=Samples(240), until_sample=Samples(until), operation=operation, index=0
        )
        self(piece, after_ms)

    def measured(self, operation: Operation, name: str, value_ms: int, *each_us: int) -> None:
        self(
            StageMeasured(
                operation=operation, index=0, name=name, value_ms=Millis(value_ms), each_us=tuple(each_us)
            )
        )


def unit(**what: Any) -> UnitSubmitted:
    return UnitSubmitted(work="unit", fence=FENCE, **what)


def test_a_measurement_that_comes_after_the_end_is_still_the_responses() -> None:
    log = Written()
    operation = log(UnitSubmitted(work="speak", fence=FENCE, response=ResponseId("r1")))
    response = log.created(1)
    log.spoke(response, operation)
    log(ResponseEnded(response=response, outcome="completed", usage=Usage(output_tokens=7)))
    log.created(2)
    log.measured(operation, "first_audio_ms", 80)
    first, second = log.measures.answers
    assert (first.first_sound_ms, first.output_tokens, second.first_sound_ms) == (80, 7, None)


def test_a_unit_in_the_middle_of_an_answer_that_says_nothing_keeps_its_own() -> None:
    log = Written()
    speaking = log(unit())
    response = log.created(1)
    log.spoke(response, speaking)
    listening = log(unit())
    log.measured(listening, "first_token_ms", 9)
    log(ModelListened(operation=listening, response=response))
    log(UnitCompleted(operation=listening))
    assert log.measures.answers[0].first_token_ms is None
    assert log.measures.unspoken.first_token_ms == (9,)


def test_recognitions_are_nobodys_answer() -> None:
    log = Written()
    operation = log(UnitSubmitted(work="recognise", fence=FENCE))
    log.measured(operation, "recognise_ms", 70)
    log(UnitCompleted(operation=operation, text="hello"))
    log.created(1)
    assert of_session(log.measures).recognise_ms == figures([70])


def test_times_of_another_boot_are_not_compared() -> None:
    log = Written()
    log(WriterOpened(writer_epoch=1, code="x", boot="one"))
    log(InputCommitted(item=ItemId("i"), from_sample=Samples(0), until_sample=Samples(1), by="client"))
    operation = log(unit())
    response = log.created(1)
    log.now_ms = 10
    log(WriterOpened(writer_epoch=2, code="x", boot="two"))
    log.spoke(response, operation)
    server = of_response(log.measures.answers[0]).server
    assert server.commit_to_first_audio_ms is server.created_to_first_audio_ms is None
    assert server.asked_to_first_audio_ms is server.generation_ms is None
    assert server.audio_ms == 10.0


def test_a_commit_is_one_responses_and_what_was_not_said_is_none() -> None:
    log = Written()
    said = {"from_sample": Samples(0), "until_sample": Samples(1), "by": "client"}
    log(InputCommitted(item=ItemId("a"), **said))
    log(InputCommitted(item=ItemId("b"), outcome="silence", **said), after_ms=100)
    first = log.created(1)
    log.spoke(first, log(unit()), after_ms=20)
    second = log.created(2)
    log.spoke(second, log(unit()), after_ms=20)
    servers = [of_response(answer).server for answer in log.measures.answers]
    assert [server.commit_to_first_audio_ms for server in servers] == [120.0, None]


def test_only_the_first_audio_that_was_handed_over_counts() -> None:
    log = Written()
    response = log.created(1)
    for first_ns in (5_040_000_000, 5_090_000_000):
        audio = (AudioSent(response, Samples(240), first_ns),)
        log(FramesSent(attachment=1, audio=audio))
    assert log.measures.answers[0].sent_ns == 5_040_000_000


def test_a_session_counts_its_responses_and_puts_their_figures_together() -> None:
    log = Written()
    for n in range(3 * RECENT):
        operation = log(unit())
        response = log.created(n)
        log.measured(operation, "first_token_ms", 10 * (n + 1))
        log.measured(operation, "token_gaps_ms", 3, 1_000, 2_000)
        log.spoke(response, operation, after_ms=100)
        if n % 2:
            log(ResponseEnded(response=response, outcome="completed"))
    session = of_session(log.measures)
    count = 3 * RECENT
    assert session.responses == {"active": count // 2, "completed": count // 2}
    assert session.stage["first_token_ms"] == figures(10 * (n + 1) for n in range(count))
    assert session.stage["between_tokens_ms"].count == 2 * count
    assert session.stage["per_token_ms"].mean == 1.5
    assert session.server["asked_to_first_audio_ms"].p50 == 100.0
    assert "commit_to_first_audio_ms" not in session.server


def test_what_is_kept_is_bounded() -> None:
    log = Written()
    operation = log(unit())
    response = log.created(1)
    log.spoke(response, operation)
    quiet = log(unit())
    for _ in range(MOST_GAPS // 256 + 2):
        log.measured(operation, "token_gaps_ms", 256, *[1_000] * 256)
        log.measured(quiet, "token_gaps_ms", 256, *[1_000] * 256)
    assert len(log.measures.pending) <= 64
    log(ModelListened(operation=quiet))
    assert len(log.measures.answers[0].gaps_us) == MOST_GAPS
    assert len(log.measures.unspoken.gaps_us) <= MOST_GAPS
    for _ in range(500):
        log(unit())
    assert len(log.measures.asked) <= 64


# --- figures ------------------------------------------------------------------------------------------------


def test_percentiles_are_values_that_were_measured() -> None:
    assert figures(range(1, 101)) == Figures(count=100, mean=50.5, p50=50, p95=95, p99=99, max=100)
    assert figures([7.0]) == Figures(count=1, mean=7.0, p50=7.0, p95=7.0, p99=7.0, max=7.0)
    assert figures([3, 1]) == Figures(count=2, mean=2.0, p50=1, p95=3, p99=3, max=3)
    assert figures([]) is None


@given(st.lists(st.integers(0, 10_000), min_size=1), st.sampled_from(["p50", "p95", "p99"]))
def test_a_percentile_is_the_least_value_that_so_many_do_not_exceed(values: list[int], name: str) -> None:
    found = figures(values)
    assert found is not None
    value, percent = getattr(found, name), int(name[1:])
    assert value in values
    assert sum(v <= value for v in values) * 100 >= percent * len(values)
    assert sum(v < value for v in values) * 100 < percent * len(values)


def test_the_fold_is_the_same_in_any_number_of_steps_and_leaves_its_input_alone() -> None:
    talk = InUnits()
    for n in range(6):
        talk.talk_for(1_000)
        measure(talk, "first_token_ms", 40 + n)
        if n % 3:
            talk.model_says()
        else:
            talk.model_listens()
    states = [Measures()]
    for stored in talk.stored:
        states.append(step(states[-1], stored))
    for k, stored in enumerate(talk.stored):
        assert step(states[k], stored) == states[k + 1]


@pytest.mark.parametrize("outcome", ["completed", "cancelled", "failed"])
def test_every_end_is_counted(outcome: Any) -> None:
    log = Written()
    log(ResponseEnded(response=log.created(1), outcome=outcome))
    assert of_session(log.measures).responses == {outcome: 1}
