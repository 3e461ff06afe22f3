"""Sequence numbers and sizes: an append has one place, and a batch is stored whole or not at all."""

from __future__ import annotations

import pytest

from antiphon.events.codec import MAX_BLOB, MAX_EVENT
from antiphon.events.conformance.drafts import audio, payload, text
from antiphon.events.conformance.under_test import StoreUnderTest, fresh_session
from antiphon.events.envelope import Draft
from antiphon.events.errors import TooLarge, WrongSequence
from antiphon.events.ids import Seq
from antiphon.events.store import Expect
from antiphon.events.units import Moment


class Refusing:
    """What is not stored, and that it leaves no trace."""

    def test_a_wrong_sequence_names_the_right_one_and_stores_nothing(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        store.append(lease, 0, [text(0), text(1)])
        for expected in (0, 1, 3, 99):
            error = store.refusal(lease, expected, [text(7)])
            assert isinstance(error, WrongSequence)
            assert (error.expected, error.actual) == (expected, 2)
        assert store.seqs(lease.session) == [0, 1]
        store.append(lease, 2, [text(2)])

    def test_a_new_session_must_not_have_events(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        store.append(lease, 0, [text(0)])
        store.log.release(lease)
        with pytest.raises(WrongSequence) as refused:
            store.open(lease.session)
        assert refused.value.actual == 1
        _, head = store.open(lease.session, Expect.RESUME)
        assert head.next_seq == 1

    def test_a_batch_with_one_event_too_large_is_not_stored_at_all(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        before = store.log.head(lease.session)
        huge_event, huge_blob = text(1, "x" * MAX_EVENT), audio(1, MAX_BLOB + 1)
        for huge in (huge_event, huge_blob):
            assert isinstance(store.refusal(lease, 0, [audio(0), huge, text(2)]), TooLarge)
        assert store.log.head(lease.session) == before
        assert store.seqs(lease.session) == []
        store.append(lease, 0, [text(0)])

    def test_the_largest_event_and_blob_allowed_are_stored(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        near = Draft(text(0, "x" * (MAX_EVENT - 200)).event, Moment(0, 0), blob=payload(0, MAX_BLOB))
        store.append(lease, 0, [near, near, text(2)])
        store.append(lease, 3, [text(3)])
        stored = list(store.log.read(lease.session))
        assert [event.seq for event in stored] == [0, 1, 2, 3]
        assert stored[0].event == near.event
        assert stored[1].blob is not None
        assert store.log.read_blob(lease.session, stored[1].blob) == near.blob

    def test_appends_may_run_ahead_of_their_answers(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        answered: list[int] = []
        for n in range(0, 40, 2):
            completion = store.log.append(lease, Seq(n), [text(n), audio(n + 1)])
            completion.then(lambda done: answered.append(done.result().first))
        store.settle()
        assert answered == list(range(0, 40, 2))
        assert store.seqs(lease.session) == list(range(40))
