"""What every log store must do. A store's own test module subclasses LogSuite and gives it a `store`.

Tests that a store cannot take are skipped by its capability flags, never by its type.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.events.codec import MAX_BLOB, MAX_EVENT, refuse_unknown_critical
from antiphon.events.completion import Completion
from antiphon.events.envelope import BlobRef, Draft, Stored, Unknown
from antiphon.events.errors import (
    Corrupt,
    Fenced,
    Locked,
    LogError,
    NoSuchSession,
    Sealed,
    TooLarge,
    UnknownCritical,
    WrongSequence,
)
from antiphon.events.ids import Seq, SessionId
from antiphon.events.store import Ack, CaughtUp, Expect, Head, Lease, Log, SealedMark
from antiphon.events.units import Moment
from antiphon.events.vocabulary import Event
from tests.events.drafts import as_stored, audio, opened, payload, text

# Every example has a session of its own, so one store may serve them all, in each store's own class.
_SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.differing_executors]
_fresh = itertools.count()


def fresh_session() -> SessionId:
    return SessionId(f"session-{next(_fresh)}")


@dataclass
class StoreUnderTest:
    """A log, another handle on the same data, and what the store can do.

    `exclusive`: a second opening is refused while the first lives; otherwise it takes over.
    `settle`: give answers that are still out.
    """

    log: Log
    another: Callable[[], Log]
    exclusive: bool
    settle: Callable[[], None] = lambda: None

    def open(self, session: SessionId, expect: Expect = Expect.NEW) -> tuple[Lease, Head]:
        return self.log.open(session, expect=expect, owner="the suite")

    def reopen(self, lease: Lease) -> tuple[Lease, Head]:
        """Take over from `lease`, as the store allows it."""
        if self.exclusive:
            self.log.release(lease)
        return self.open(lease.session, Expect.RESUME)

    def ask(self, lease: Lease, expected: int, batch: Sequence[Draft]) -> Completion[Ack]:
        completion = self.log.append(lease, Seq(expected), batch)
        self.settle()
        assert completion.settled
        return completion

    def append(self, lease: Lease, expected: int, batch: Sequence[Draft]) -> Ack:
        return self.ask(lease, expected, batch).result()

    def refusal(self, lease: Lease, expected: int, batch: Sequence[Draft]) -> LogError:
        error = self.ask(lease, expected, batch).error
        assert error is not None
        return error

    def seqs(self, session: SessionId) -> list[int]:
        return [stored.seq for stored in self.log.read(session)]


class Whispered(Event, frozen=True, kw_only=True):
    """Of a future vocabulary."""

    words: str


class Hummed(Event, frozen=True, kw_only=True):
    """Of a future vocabulary, and may be skipped."""

    ancillary: ClassVar[bool] = True
    tune: str


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

    @settings(max_examples=40, suppress_health_check=_SHARED, deadline=None)
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
        with pytest.raises(ValueError):
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
        assert len(heads) == 2
        assert heads[first.session].next_seq == 2
        assert heads[second.session].incarnation == second.incarnation + 1


class Refusing:
    """Sequence numbers, sizes, and batches that are all or nothing."""

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

    def test_appends_may_run_ahead_of_their_answers(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        answered: list[int] = []
        for n in range(0, 40, 2):
            completion = store.log.append(lease, Seq(n), [text(n), audio(n + 1)])
            completion.then(lambda done: answered.append(done.result().first))
        store.settle()
        assert answered == list(range(0, 40, 2))
        assert store.seqs(lease.session) == list(range(40))


class Leasing:
    """Who may write."""

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
            if store.exclusive:
                store.log.release(lease)
            lease, _ = store.open(lease.session)
            epochs.append(lease.writer_epoch)
        assert epochs == sorted(set(epochs))

    def test_a_second_opening_is_refused_and_names_the_owner(self, store: StoreUnderTest) -> None:
        if not store.exclusive:
            pytest.skip("opening takes over in this store")
        lease, _ = store.open(fresh_session())
        for log in (store.log, store.another()):
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
        other = store.another()
        new, head = other.open(lease.session, expect=Expect.RESUME, owner="the other")
        assert head.next_seq == 1
        assert isinstance(store.refusal(lease, 1, [text(1)]), Fenced)
        store.log.release(lease)
        assert new.writer_epoch > lease.writer_epoch

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


class Evolving:
    """Events this program does not know."""

    def test_an_unknown_event_is_kept_and_named(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        store.append(
            lease,
            0,
            [
                text(0),
                Draft(Hummed(tune="la"), Moment(1, 1)),
                Draft(Whispered(words="no"), Moment(2, 2), b"pcm"),
            ],
        )
        known, hummed, whispered = store.log.read(lease.session)
        assert isinstance(hummed.event, Unknown)
        assert isinstance(whispered.event, Unknown)
        assert (hummed.event.type, hummed.event.event_version, hummed.critical) == ("Hummed", 1, False)
        assert (whispered.event.type, whispered.critical) == ("Whispered", True)
        refuse_unknown_critical(known)
        refuse_unknown_critical(hummed)
        with pytest.raises(UnknownCritical) as refused:
            refuse_unknown_critical(whispered)
        assert (refused.value.type, refused.value.seq) == ("Whispered", 2)


class Following:
    """Everything from a place, then live."""

    async def test_follow_says_what_is_there_then_caught_up_then_what_comes(
        self, store: StoreUnderTest
    ) -> None:
        lease, _ = store.open(fresh_session())
        store.append(lease, 0, [text(0), text(1)])
        following = store.log.follow(lease.session)
        assert [await _seq(following), await _seq(following)] == [0, 1]
        assert await _next(following) == CaughtUp(Seq(2))
        store.append(lease, 2, [audio(2)])
        assert await _seq(following) == 2
        lease, _ = store.reopen(lease)
        store.append(lease, 3, [opened(lease.writer_epoch)])
        assert await _seq(following) == 3
        store.log.seal(lease, "the end")
        assert await _next(following) == SealedMark(Seq(4))
        with pytest.raises(StopAsyncIteration):
            await _next(following)

    async def test_follow_begins_where_it_is_told(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        store.append(lease, 0, [text(0), text(1), text(2)])
        from_middle, from_beyond = (store.log.follow(lease.session, start=start) for start in (2, 4))
        assert await _seq(from_middle) == 2
        assert await _next(from_middle) == CaughtUp(Seq(3))
        assert await _next(from_beyond) == CaughtUp(Seq(3))
        store.append(lease, 3, [text(3), text(4)])
        assert [await _seq(from_middle), await _seq(from_middle)] == [3, 4]
        assert await _seq(from_beyond) == 4

    async def test_follow_of_a_sealed_log_still_says_that_it_caught_up(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        store.append(lease, 0, [text(0)])
        store.log.seal(lease, "the end")
        said = [item async for item in store.log.follow(lease.session)]
        assert [getattr(item, "seq", None) for item in said] == [0, 1, None]
        assert isinstance(said[1], CaughtUp)
        assert said[2] == SealedMark(Seq(1))

    async def test_follow_during_heavy_appends_has_no_gap_and_no_duplicate(
        self, store: StoreUnderTest
    ) -> None:
        lease, _ = store.open(fresh_session())
        followers = [asyncio.create_task(_collect(store.log, lease.session)) for _ in range(2)]
        seq = 0
        for n in range(300):
            batch = [audio(seq + k) if k % 2 else text(seq + k) for k in range(n % 7 + 1)]
            seq = store.append(lease, seq, batch).last + 1
            if n % 10 == 0:
                await asyncio.sleep(0)
        followers.append(asyncio.create_task(_collect(store.log, lease.session)))
        store.log.seal(lease, "the end")
        async with asyncio.timeout(10):
            for seqs, caught_up in await asyncio.gather(*followers):
                assert seqs == list(range(seq))
                assert caught_up == 1

    async def test_nobody_to_follow_is_said_at_once(self, store: StoreUnderTest) -> None:
        with pytest.raises(NoSuchSession):
            await _next(store.log.follow(SessionId("nobody")))


class LogSuite(Reading, Refusing, Leasing, Evolving, Following):
    """All of it."""


async def _next(following: object) -> Stored | CaughtUp | SealedMark:
    async with asyncio.timeout(10):
        return await anext(following)  # type: ignore[call-overload,no-any-return]


async def _seq(following: object) -> int:
    item = await _next(following)
    assert isinstance(item, Stored)
    return item.seq


async def _collect(log: Log, session: SessionId) -> tuple[list[int], int]:
    seqs, caught_up = [], 0
    async for item in log.follow(session):
        if isinstance(item, Stored):
            seqs.append(int(item.seq))
        elif isinstance(item, CaughtUp):
            caught_up += 1
    return seqs, caught_up
