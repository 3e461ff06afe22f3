"""Whatever happens in a call over the Moshi wire in whatever order, what must always hold holds."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from antiphon.actors.modes.personaplex.commands import Finish, ReportUndecodable
from antiphon.actors.modes.personaplex.hearing import MOST_AHEAD_MS
from antiphon.actors.session import commands as c
from antiphon.events import vocabulary as v
from tests.actors.session.acts import (
    Act,
    attempt,
    change_writer,
    end_unit,
    pass_time,
    report_sent,
    report_stage,
    wait_long,
)
from tests.actors.session.given import Talk, pcm
from tests.actors.session.laws import check_events
from tests.actors.session.test_any_conversation import TERMS, Conversation, check_cursors, check_cut

from .moshi import UNIT_MS, MoshiCall, silent

EXAMPLES = 500 if os.environ.get("CI") else 100


def send(talk: Talk, n: int) -> None:
    attempt(talk, c.AppendAudio(pcm=pcm((0, 10, 40, 80, 81, 160, 200, 500, 1_900, 2_500)[n])))


def send_garbage(talk: Talk, n: int) -> None:
    for _ in range(1 + n // 3):
        attempt(talk, ReportUndecodable(size=n, message="not Ogg"))


def say_on(talk: Talk, n: int) -> None:
    """The model answers what it has, and a little later."""
    for _ in range(1 + n):
        if talk.state.units.flight is not None:
            end_unit(talk, 3)
        talk.wait(40)


def hurry(talk: Talk, n: int) -> None:
    """The client is ahead of the model by a little, or by a lot."""
    for _ in range(3 * n):
        send(talk, 3)


def go(talk: Talk, n: int) -> None:
    attached = talk.state.attached
    if n < 5:
        talk.do(c.Detach(attachment=attached.current, reason="lost", code=1006))
    elif talk.state.phase == "open" and n < 9:
        new = b"token %d" % attached.count
        talk.do(c.Resume(dialect="personaplex", presented=attached.token, token=new, live=True))
    elif n == 9:
        talk.do(c.Park(reason="shutdown"))
        talk.open_writer()


def stop(talk: Talk, n: int) -> None:
    if n > 6:
        attempt(talk, Finish() if n < 9 else c.CloseSession(reason="client"))


ACTS: list[Act] = [
    send, send, send, send, send_garbage, say_on, say_on, say_on, say_on, end_unit, end_unit, hurry, report_sent,
    pass_time, pass_time, wait_long, change_writer, report_stage, go, stop,
]  # fmt: skip

ORDERLY: Conversation = [
    (send, 3), (say_on, 4), (send, 4), (say_on, 9), (report_sent, 9), (hurry, 9), (go, 0), (say_on, 9), (go, 5),
    (say_on, 0), (send, 2), (say_on, 2), (send, 6), (stop, 7), (say_on, 9),
]  # fmt: skip


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    acts=st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 9)), min_size=20, max_size=60),
    cut=st.integers(0, 10_000),
)
@example(acts=ORDERLY, cut=43)
@example(acts=[(send, 4), (say_on, 0), (stop, 7), (end_unit, 0)], cut=0)
@example(acts=[(send, 1), (wait_long, 0), (stop, 7)], cut=0)
def test_any_moshi_call_cut_anywhere_and_refolded_is_the_same_call(acts: Conversation, cut: int) -> None:
    call = MoshiCall(terms=TERMS, token=b"token")
    for act, n in acts:
        act(call, n)
    check_events(call.stored)
    check_cursors(call)
    check_cut(call, cut % len(call.stored))
    check_units(call)


def check_units(call: MoshiCall) -> None:
    """Units are whole, follow each other, and are never of silence before that is due; nobody is heard by a
    model that is not there, and little waits for one that is."""
    given, appended, ready, finished, since_ns, silences = 0, 0, False, False, 0, 0
    for stored in call.stored:
        match stored.event:
            case v.StageOpened(stage="model"):
                ready, since_ns, silences = True, stored.at.mono_ns, 0
            case v.WriterOpened() | v.StageReturned() | v.StageAway(stage="model"):
                ready, since_ns, silences = False, 0, 0
            case v.InputAppended(until_sample=until):
                assert ready
                assert not finished
                appended = until
            case v.InputCleared(until_sample=until):
                assert until <= appended
                given = max(given, until)
            case v.InputFinished():
                finished = True
            case v.UnitSubmitted(work="unit") as unit:
                samples = unit.until_sample - unit.from_sample + unit.silence
                assert samples == 24 * UNIT_MS
                assert unit.from_sample >= 0
                assert unit.until_sample <= appended
                if silent(unit):
                    silences += 1
                    due_ns = since_ns + (1 + silences) * UNIT_MS * 1_000_000
                    assert stored.at.mono_ns >= due_ns, "silence before it is due"
                    assert not finished
                else:
                    assert not unit.silence or (finished and unit.until_sample == appended)
                    since_ns, silences = stored.at.mono_ns, 0
                given = max(given, unit.until_sample)
        assert appended - given <= 24 * (MOST_AHEAD_MS + 2_500)
