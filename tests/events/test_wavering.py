"""The wavering log keeps the contract when it is only late, and wavers as it is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.events.completion import Completion
from antiphon.events.conformance.suite import LogSuite, StoreUnderTest
from antiphon.events.errors import OutcomeUnknown, StoreFull
from antiphon.events.ids import Seq, SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.store import Ack, Expect, Lease
from antiphon.events.wavering import Fate, WaveringLog
from tests.events.drafts import text

S = SessionId("s")


class TestAlwaysLate(LogSuite):
    @pytest.fixture
    def store(self) -> StoreUnderTest:
        log = WaveringLog(MemoryLog(), lambda: Fate.LATE)
        return StoreUnderTest(log, exclusive=False, settle=log.settle_all, another=lambda: log)


def _open(*fates: Fate) -> tuple[WaveringLog, Lease]:
    log = WaveringLog(MemoryLog(), iter(fates).__next__)
    lease, _ = log.open(S, expect=Expect.NEW, owner="the test")
    return log, lease


def test_a_late_answer_holds_back_those_behind_it() -> None:
    log, lease = _open(Fate.NOW, Fate.LATE, Fate.NOW, Fate.LATE)
    answers = [log.append(lease, Seq(n), [text(n)]) for n in range(4)]
    assert [answer.settled for answer in answers] == [True, False, False, False]
    assert log.late == 2
    log.settle()
    assert [answer.settled for answer in answers] == [True, True, True, False]
    log.settle()
    assert [answer.result().first for answer in answers] == [0, 1, 2, 3]


def test_a_full_store_costs_one_append_and_no_more() -> None:
    log, lease = _open(Fate.FULL, Fate.NOW)
    assert isinstance(log.append(lease, Seq(0), [text(0)]).error, StoreFull)
    assert list(log.read(S)) == []
    assert log.append(lease, Seq(0), [text(0)]).result().last == 0


def test_what_stands_behind_a_failure_is_in_doubt() -> None:
    log, lease = _open(Fate.LATE, Fate.FULL)
    answers = [log.append(lease, Seq(n), [text(n)]) for n in range(3)]
    log.settle_all()
    assert [type(answer.error) for answer in answers] == [type(None), StoreFull, OutcomeUnknown]
    assert isinstance(log.append(lease, Seq(1), [text(1)]).error, OutcomeUnknown)


@pytest.mark.parametrize(("fate", "there"), [(Fate.STORED, 1), (Fate.LOST, 0)])
def test_after_an_unknown_outcome_only_reopening_helps(fate: Fate, there: int) -> None:
    log, lease = _open(fate, Fate.NOW)
    for _ in range(2):
        assert isinstance(log.append(lease, Seq(0), [text(0)]).error, OutcomeUnknown)
    lease, head = log.open(S, expect=Expect.RESUME, owner="the test")
    assert head.next_seq == there
    assert log.append(lease, Seq(0), [text(0)]).result().last == 0
    assert len(list(log.read(S))) == 1


@given(data=st.data())
def test_a_writer_that_reopens_loses_nothing_that_was_acknowledged(data: st.DataObject) -> None:
    log = WaveringLog(MemoryLog(), lambda: data.draw(st.sampled_from(Fate)))
    lease, head = log.open(S, expect=Expect.NEW, owner="the test")
    seq = 0
    acked: set[int] = set()
    answered: list[int] = []
    for n in range(data.draw(st.integers(0, 12))):
        completion = log.append(lease, Seq(seq), [text(n)])

        def note(done: Completion[Ack], n: int = n) -> None:
            answered.append(n)
            if done.error is None:
                acked.add(n)

        completion.then(note)
        log.settle(data.draw(st.integers(0, 2)))
        seq += 1
        if completion.settled and completion.error is not None:
            log.settle_all()
            lease, head = log.open(S, expect=Expect.RESUME, owner="the test")
            seq = head.next_seq
    log.settle_all()
    assert answered == sorted(answered)
    stored = [event.at.mono_ns for event in log.read(S)]
    assert acked <= set(stored)
    assert stored == sorted(set(stored))
