"""Who may write: one lease at a time, none after the seal, and no life's lease in another life."""

from __future__ import annotations

import pytest

from antiphon.events.conformance import needs
from antiphon.events.conformance.drafts import audio, opened, text
from antiphon.events.conformance.under_test import StoreUnderTest, fresh_session
from antiphon.events.errors import Fenced, Locked, OutcomeUnknown, Sealed
from antiphon.events.ids import Seq
from antiphon.events.store import Expect
from antiphon.events.vocabulary import WriterOpened


class Leasing:
    """Opening, taking over, releasing, sealing."""

    def test_opening_raises_the_epoch_and_fences_the_lease_before(self, store: StoreUnderTest) -> None:
        old, _ = store.open(fresh_session())
        store.append(old, 0, [text(0)])
        new, head = store.reopen(old)
        assert new.writer_epoch > old.writer_epoch
        assert head.writer_epoch == new.writer_epoch
        error = store.refusal(old, 1, [text(1)])
        assert isinstance(error, Fenced)
        assert (error.given, error.current) == (old.writer_epoch, new.writer_epoch)
        store.append(new, 1, [opened(new.writer_epoch)])
        assert isinstance(store.refusal(old, 2, [text(1)]), Fenced)
        assert store.seqs(old.session) == [0, 1]

    def test_the_epoch_rises_even_if_nothing_was_ever_appended(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        epochs = [lease.writer_epoch]
        for _ in range(3):
            store.give_way(lease)
            lease, _ = store.open(lease.session)
            epochs.append(lease.writer_epoch)
        assert epochs == sorted(set(epochs))

    def test_what_was_queued_before_a_takeover_lands_before_it_or_not_at_all(
        self, store: StoreUnderTest
    ) -> None:
        old, _ = store.open(fresh_session())
        store.append(old, 0, [text(0)])
        queued = [store.log.append(old, Seq(n), [text(n)]) for n in range(1, 20)]
        store.give_way(old)
        with needs.beside(store) as other:
            new, head = other.open(old.session, Expect.RESUME)
            other.append(new, head.next_seq, [opened(new.writer_epoch)])
            assert isinstance(store.refusal(old, 20, [text(20)]), Fenced)
            stored = list(other.log.read(old.session))
            other.log.release(new)
        acknowledged = sum(answer.error is None for answer in queued)
        assert all(isinstance(answer.error, Fenced | OutcomeUnknown | None) for answer in queued)
        assert [isinstance(event.event, WriterOpened) for event in stored] == [False] * head.next_seq + [True]
        assert head.next_seq >= 1 + acknowledged

    def test_a_second_opening_is_refused_and_names_the_owner(self, store: StoreUnderTest) -> None:
        needs.exclusive(store)
        lease, _ = store.open(fresh_session())
        with needs.beside(store) as other:
            for log in (store.log, other.log):
                with pytest.raises(Locked, match="the suite"):
                    log.open(lease.session, expect=Expect.RESUME, owner="somebody else")
                with pytest.raises(Locked):
                    log.open(lease.session, expect=Expect.NEW, owner="somebody else")
        store.append(lease, 0, [text(0)])

    def test_a_released_lease_may_not_write_and_the_next_one_may(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        store.append(lease, 0, [text(0)])
        store.log.release(lease)
        store.log.release(lease)
        assert isinstance(store.refusal(lease, 1, [text(1)]), Fenced)
        with needs.beside(store) as other:
            new, head = other.open(lease.session, Expect.RESUME)
            assert head.next_seq == 1
            assert new.writer_epoch > lease.writer_epoch
            assert isinstance(store.refusal(lease, 1, [text(1)]), Fenced)
            store.log.release(lease)
            other.append(new, 1, [text(1)])

    def test_a_sealed_log_is_closed_for_ever(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        store.append(lease, 0, [audio(0)])
        store.log.seal(lease, "the end")
        store.log.seal(lease, "again")
        assert isinstance(store.refusal(lease, 1, [text(1)]), Sealed)
        assert isinstance(store.refusal(lease, 0, [audio(0)]), Sealed)
        with pytest.raises(Sealed):
            store.open(lease.session, Expect.RESUME)
        head = store.log.head(lease.session)
        assert (head.next_seq, head.sealed) == (1, True)
        assert store.seqs(lease.session) == [0]

    def test_a_life_after_the_seal_is_another_incarnation(self, store: StoreUnderTest) -> None:
        old, _ = store.open(fresh_session())
        store.append(old, 0, [text(0), audio(1)])
        store.log.seal(old, "the end")
        new, head = store.open(old.session)
        assert new.incarnation == old.incarnation + 1
        assert head.next_seq == 0
        assert isinstance(store.refusal(old, 0, [text(5)]), Sealed)
        assert isinstance(store.refusal(old, 2, [text(5)]), Sealed)
        store.append(new, 0, [audio(7)])
        store.log.seal(old, "repeated")
        store.log.release(old)
        lives = [
            [event.at.mono_ns for event in store.log.read(old.session, incarnation=lease.incarnation)]
            for lease in (old, new)
        ]
        assert lives == [[0, 1], [7]]
        assert store.log.head(old.session, incarnation=old.incarnation).sealed
        assert not store.log.head(old.session).sealed
        assert list(store.log.read(old.session)) == list(
            store.log.read(old.session, incarnation=new.incarnation)
        )
        for lease, n in ((old, 1), (new, 7)):
            *_, last = store.log.read(old.session, incarnation=lease.incarnation)
            assert last.blob is not None
            found = store.log.read_blob(old.session, last.blob, incarnation=lease.incarnation)
            assert found == audio(n).blob
