"""Whatever happens in a half-duplex call in whatever order, what must always hold holds."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from antiphon.actors.modes.half_duplex.commands import Prepare
from antiphon.actors.session.refusals import Refused
from antiphon.events import vocabulary as v
from tests.actors.session.acts import (
    Act,
    attempt,
    change_writer,
    end,
    fail,
    finish,
    measure_or_route,
    pass_time,
    report_sent,
    report_stage,
    say,
    score_late,
    send_unscored,
    understand,
    wait_long,
)
from tests.actors.session.given import Talk
from tests.actors.session.laws import check_events
from tests.actors.session.test_any_conversation import TERMS, Conversation, check_cursors, check_cut

from .calls import PHONE, PhoneCall, asked

EXAMPLES = 500 if os.environ.get("CI") else 100


def prepare(talk: Talk, n: int) -> None:
    attempt(talk, asked(lasts_ms=2_000 if n == 0 else 600_000, instructions=f"be {n}"))
    if n % 2:
        talk.wait(500)


def speak(talk: Talk, n: int) -> None:
    hear(talk, *[0.9] * (1 + n))


def fall_silent(talk: Talk, n: int) -> None:
    hear(talk, *[0.1] * (5 * n))


def hesitate(talk: Talk, n: int) -> None:
    hear(talk, *[0.7, 0.1, 0.9][: 1 + n % 3] * n)


def talk_on(talk: Talk, n: int) -> None:
    """Several segments in one chunk."""
    hear(talk, *([0.9] * 6 + [0.1] * 25) * (1 + n % 4), *[0.9] * (n % 3))


def hear(talk: Talk, *scores: float) -> None:
    assert isinstance(talk, PhoneCall)
    try:
        talk.windows(*scores, of=31)
    except Refused:
        send_unscored(talk, 1)


def stop(talk: Talk, n: int) -> None:
    if n > 6:
        end(talk, n)


ACTS: list[Act] = [
    prepare, speak, speak, speak, fall_silent, fall_silent, fall_silent, hesitate, talk_on, send_unscored, score_late,
    report_sent, report_sent, report_sent, say, say, say, finish, finish, fail, measure_or_route, understand,
    understand, understand, pass_time, pass_time, wait_long, change_writer, report_stage, stop,
]  # fmt: skip

ORDERLY: Conversation = [
    (prepare, 1), (speak, 9), (fall_silent, 6), (understand, 0), (say, 4), (report_sent, 9), (finish, 0),
    (pass_time, 5), (talk_on, 3), (understand, 0), (understand, 1), (say, 4), (finish, 0), (report_sent, 9),
    (pass_time, 5), (prepare, 3), (speak, 5), (stop, 8),
]  # fmt: skip


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    acts=st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 9)), min_size=20, max_size=60),
    cut=st.integers(0, 10_000),
)
@example(acts=ORDERLY, cut=43)
def test_any_call_cut_anywhere_and_refolded_is_the_same_call(acts: Conversation, cut: int) -> None:
    call = PhoneCall(prepared=False, terms=TERMS)
    prepare(call, 1)
    for act, n in acts:
        act(call, n)
    check_events(call.stored)
    check_cursors(call)
    check_cut(call, cut % len(call.stored))
    check_call(call)


def check_call(call: PhoneCall) -> None:
    """Nobody is heard while the assistant has the word, nobody breaks in, and segments come in order."""
    prepared, answering, open_segment = 0, False, False
    for stored in call.stored:
        match stored.event:
            case v.CallPrepared(number=number):
                assert number == prepared + 1
                assert not answering
                prepared = number
            case v.InputAppended():
                assert prepared
                assert not answering, "heard over an answer"
            case v.ResponseCreated():
                answering = True
            case v.ResponseEnded():
                answering = False
            case v.EpochAdvanced(reason=reason):
                assert reason not in ("turn_detected", "barge_in"), "nobody breaks in"
            case v.SpeechStarted():
                assert not open_segment
                open_segment = True
            case v.SpeechStopped():
                assert open_segment
                open_segment = False
            case v.InputCleared():
                open_segment = False
            case v.SessionClosed() | v.SessionExpired() | v.SessionFailed():
                assert not open_segment


def test_the_generators_prepare_calls_as_clients_do() -> None:
    assert isinstance(asked(), Prepare)
    assert asked().configuration.turn_detection == PHONE
