"""What is appended is what is read: types, order, places, blobs."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.events.conformance.drafts import as_stored, audio, text
from antiphon.events.conformance.under_test import StoreUnderTest, fresh_session
from antiphon.events.envelope import BlobRef, Draft
from antiphon.events.errors import Corrupt, NoSuchSession
from antiphon.events.ids import Seq, SessionId
from antiphon.events.store import Expect, Lease
from antiphon.events.units import Moment

# Every example has a session of its own, so one store may serve them all, in each store's own class.
SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.differing_executors]


class Reading:
    """Append and read."""

    def test_what_is_appended_is_read_back_in_order_with_its_blobs(self, store: StoreUnderTest) -> None:
        lease, head = store.open(fresh_session())
        assert head.next_seq == 0
        drafts = [text(0), audio(1), Draft(text(2).event, Moment(5, 7), cause=Seq(1)), audio(3, size=0)]
        first = store.append(lease, 0, drafts[:1])
        second = store.append(lease, 1, drafts[1:])
        assert (first.first, first.last, second.first, second.last) == (0, 0, 1, 3)
        stored = list(store.log.read(lease.session))
        assert [event.seq for event in stored] == [0, 1, 2, 3]
        assert all(as_stored(draft, event) for draft, event in zip(drafts, stored, strict=True))
        assert [event.blob for event in stored] == [*first.blobs, *second.blobs]
        for draft, event in zip(drafts, stored, strict=True):
            if event.blob is not None:
                assert store.log.read_blob(lease.session, event.blob) == draft.blob

    def test_an_answer_says_how_safe_it_is(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        assert store.append(lease, 0, [text(0)]).level in store.log.capabilities

    def test_a_long_log_is_read_from_any_place(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        for first in range(0, 5_000, 250):
            store.append(lease, first, [audio(n, 2) for n in range(first, first + 250)])
        whole = list(store.log.read(lease.session))
        places = (0, 1, 249, 250, 1_023, 1_024, 1_025, 2_500, 4_999, 5_000, 6_000)
        for _ in range(2):
            for start in places:
                assert list(store.log.read(lease.session, start=start)) == whole[start:]
                assert list(store.log.read(lease.session, start=start, stop=start + 3)) == whole[start:][:3]
            lease, _ = store.reopen(lease)

    @settings(max_examples=40, suppress_health_check=SHARED, deadline=None)
    @given(sizes=st.lists(st.lists(st.none() | st.integers(0, 300), min_size=1, max_size=5), max_size=8))
    def test_any_sequence_of_batches_reads_back_as_one_contiguous_log(
        self, store: StoreUnderTest, sizes: list[list[int | None]]
    ) -> None:
        lease, _ = store.open(fresh_session())
        said: list[Draft] = []
        for batch in sizes:
            drafts = [
                text(len(said) + k) if size is None else audio(len(said) + k, size)
                for k, size in enumerate(batch)
            ]
            store.append(lease, len(said), drafts)
            said += drafts
        stored = list(store.log.read(lease.session))
        assert [event.seq for event in stored] == list(range(len(said)))
        assert all(as_stored(draft, event) for draft, event in zip(said, stored, strict=True))
        blobs = [store.log.read_blob(lease.session, event.blob) for event in stored if event.blob]
        assert blobs == [draft.blob for draft in said if draft.blob is not None]
        head = store.log.head(lease.session)
        assert (head.next_seq, head.sealed) == (len(said), False)
        store.log.release(lease)

    def test_a_range_is_read_by_its_ends(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        for n in range(0, 12, 3):
            store.append(lease, n, [text(n), text(n + 1), text(n + 2)])

        def seqs(start: int, stop: int | None) -> list[int]:
            return [stored.seq for stored in store.log.read(lease.session, start=start, stop=stop)]

        assert seqs(4, None) == list(range(4, 12))
        assert seqs(4, 8) == [4, 5, 6, 7]
        assert seqs(0, 0) == seqs(12, None) == seqs(99, None) == []
        assert seqs(10, 99) == [10, 11]

    def test_an_empty_batch_is_a_mistake_and_harmless(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        with pytest.raises(ValueError):  # noqa: PT011  # the contract says no more
            store.log.append(lease, Seq(0), [])
        assert store.log.head(lease.session).next_seq == 0
        store.append(lease, 0, [text(0)])

    def test_a_blob_that_is_not_what_was_written_is_corrupt(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        (ref,) = store.append(lease, 0, [audio(0)]).blobs
        assert ref is not None
        for wrong in (
            BlobRef(ref.offset, ref.length, ref.crc32c ^ 1),
            BlobRef(ref.offset, ref.length - 1, ref.crc32c),
            BlobRef(ref.offset + 1000, ref.length, ref.crc32c),
        ):
            with pytest.raises(Corrupt):
                store.log.read_blob(lease.session, wrong)

    def test_a_session_that_never_was_has_no_log(self, store: StoreUnderTest) -> None:
        nobody = SessionId("nobody")
        for ask in (
            lambda: list(store.log.read(nobody)),
            lambda: store.log.head(nobody),
            lambda: store.log.read_blob(nobody, BlobRef(0, 0, 0)),
            lambda: store.open(nobody, Expect.RESUME),
        ):
            with pytest.raises(NoSuchSession):
                ask()
        assert isinstance(store.refusal(Lease(nobody, 0, 1), 0, [text(0)]), NoSuchSession)

    def test_every_session_is_listed_once_with_its_latest_life(self, store: StoreUnderTest) -> None:
        first, _ = store.open(fresh_session())
        second, _ = store.open(fresh_session())
        store.append(first, 0, [text(0), text(1)])
        store.log.seal(second, "done")
        store.open(second.session)
        heads = {head.session: head for head in store.log.sessions()}
        assert len(heads) == len(list(store.log.sessions()))
        assert heads[first.session].next_seq == 2
        assert heads[second.session].incarnation == second.incarnation + 1
