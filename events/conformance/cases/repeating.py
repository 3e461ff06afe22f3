"""A writer that lost an answer may ask again: the same batch at the same place is stored once."""

from __future__ import annotations

from antiphon.events.codec import MAX_BLOB
from antiphon.events.conformance.drafts import audio, opened, payload, text
from antiphon.events.conformance.under_test import StoreUnderTest, fresh_session
from antiphon.events.envelope import Draft
from antiphon.events.errors import TooLarge, WrongSequence


class Repeating:
    """Appends that come twice."""

    def test_the_same_batch_again_has_the_first_answer_and_one_copy(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        batches = [[text(0)], [audio(1), text(2), audio(3)], [audio(4)]]
        acks = [store.append(lease, batch[0].at.mono_ns, batch) for batch in batches]
        for batch, ack in zip(batches, acks, strict=True):
            assert store.append(lease, ack.first, batch) == ack
        assert store.seqs(lease.session) == [0, 1, 2, 3, 4]
        store.append(lease, 5, [text(5)])

    def test_another_batch_at_a_stored_place_is_refused(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        store.append(lease, 0, [text(0), audio(1)])
        other_blob = Draft(audio(1).event, audio(1).at, blob=payload(9, 64))
        too_large = [audio(0, MAX_BLOB + 1), audio(1)]
        assert isinstance(store.refusal(lease, 0, too_large), (TooLarge, WrongSequence))
        for other in ([text(0)], [text(0), other_blob], [text(0), audio(1), text(2)], [text(9), audio(1)]):
            assert isinstance(store.refusal(lease, 0, other), WrongSequence)
        assert isinstance(store.refusal(lease, 1, [audio(1)]), WrongSequence)
        assert store.seqs(lease.session) == [0, 1]

    def test_a_lost_answer_can_be_asked_for_after_reopening(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        store.append(lease, 0, [text(0)])
        ack = store.append(lease, 1, [audio(1), audio(2)])
        lease, head = store.reopen(lease)
        assert head.next_seq == 3
        assert store.append(lease, 1, [audio(1), audio(2)]) == ack
        assert isinstance(store.refusal(lease, 1, [audio(1), audio(3)]), WrongSequence)
        store.append(lease, 3, [opened(lease.writer_epoch)])
        assert store.seqs(lease.session) == [0, 1, 2, 3]
