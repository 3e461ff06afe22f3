"""Disks that are full, broken or slow to take: the answer says so, the log stays whole, others go on."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

import pytest

from antiphon.events.conformance import needs
from antiphon.events.conformance.disk import UnluckyDisk
from antiphon.events.conformance.filled import BATCHES, FIRSTS, Filled
from antiphon.events.conformance.under_test import StoreUnderTest, fresh_session
from antiphon.events.errors import OutcomeUnknown, Sealed, StoreFull
from antiphon.events.store import Expect, Lease

BATCH = 4
"""The one that fails: three events, two of them with blobs."""


class Attempt:
    """A log with all before BATCH in it, held open through a disk that may fail."""

    def __init__(self, store: StoreUnderTest, disk: UnluckyDisk, filled: Filled) -> None:
        self.store, self.disk, self.filled, self.first = store, disk, filled, FIRSTS[BATCH]
        ends = filled.ends[BATCH]
        filled.put([whole[:end] for whole, end in zip(filled.whole, ends, strict=True)])
        self.lease, head = store.open(filled.session, Expect.RESUME)
        assert head.next_seq == self.first
        self.seen: list[int] = []
        """What another reader found, each time it looked."""

    def look(self) -> None:
        self.seen.append(self.seen_beside())

    def seen_beside(self) -> int:
        """How many events another reader finds now."""
        with needs.beside(self.store) as reader:
            return self.filled.check(reader.log)

    def assert_goes_on(self, lease: Lease) -> None:
        """The log ends before the batch or after it, and takes it once."""
        assert self.store.append(lease, self.first, BATCHES[BATCH]).last == FIRSTS[BATCH + 1] - 1
        assert self.seen_beside() == FIRSTS[BATCH + 1]
        self.store.log.release(lease)


def _attempts(store: StoreUnderTest, code: int) -> Iterator[Attempt]:
    """An attempt for every byte of the batch; it looks around at the moment of failure."""
    filled = Filled(store)
    size = sum(after - before for before, after in zip(*filled.ends[BATCH : BATCH + 2], strict=True))
    for room in range(size):
        with needs.on_an_unlucky_disk(store) as (failing, disk):
            attempt = Attempt(failing, disk, filled)
            disk.fill(room, code, attempt.look)
            yield attempt


class Failing:
    """Writes and syncs that fail."""

    @pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT], ids=["no space", "quota"])
    def test_a_disk_full_at_any_byte_of_a_batch_leaves_nothing_of_it(
        self, store: StoreUnderTest, code: int
    ) -> None:
        for attempt in _attempts(store, code):
            lease = attempt.lease
            error = attempt.store.refusal(lease, attempt.first, BATCHES[BATCH])
            assert isinstance(error, StoreFull | OutcomeUnknown)
            assert attempt.seen == [attempt.first]
            if isinstance(error, StoreFull):
                assert attempt.seen_beside() == attempt.first
            else:
                lease, _ = attempt.store.open(lease.session, Expect.RESUME)
            attempt.assert_goes_on(lease)  # room was made

    def test_a_disk_that_breaks_at_any_byte_of_a_batch_ends_the_lease_and_not_the_log(
        self, store: StoreUnderTest
    ) -> None:
        for attempt in _attempts(store, errno.EIO):
            for _ in range(2):
                error = attempt.store.refusal(attempt.lease, attempt.first, BATCHES[BATCH])
                assert isinstance(error, OutcomeUnknown)
            with pytest.raises(OutcomeUnknown):
                attempt.store.log.seal(attempt.lease, "the end")
            assert attempt.seen == [attempt.first]
            lease, head = attempt.store.open(attempt.filled.session, Expect.RESUME)
            assert head.next_seq in (attempt.first, FIRSTS[BATCH + 1])
            attempt.assert_goes_on(lease)

    def test_a_full_disk_that_cannot_be_tidied_is_an_unknown_outcome(self, store: StoreUnderTest) -> None:
        filled = Filled(store)
        with needs.on_an_unlucky_disk(store) as (failing, disk):
            attempt = Attempt(failing, disk, filled)
            disk.fill(20, errno.ENOSPC)
            disk.break_("truncate", errno.EIO)
            error = failing.refusal(attempt.lease, attempt.first, BATCHES[BATCH])
            assert isinstance(error, OutcomeUnknown)
        filled.assert_ends_after(store, BATCH)

    @pytest.mark.parametrize("most", [1, 7])
    def test_a_disk_that_takes_a_few_bytes_at_a_time_makes_no_difference(
        self, store: StoreUnderTest, most: int
    ) -> None:
        filled = Filled(store)
        with needs.on_an_unlucky_disk(store) as (failing, disk):
            attempt = Attempt(failing, disk, filled)
            disk.dribble(most)
            attempt.assert_goes_on(attempt.lease)

    def test_a_failed_sync_is_not_tried_again_and_leaves_the_log_closed_and_readable(
        self, store: StoreUnderTest
    ) -> None:
        """A store that syncs nothing when it seals has nothing to fail."""
        filled = Filled(store)
        with needs.on_an_unlucky_disk(store) as (failing, disk):
            attempt = Attempt(failing, disk, filled)
            disk.break_("sync", errno.EIO)
            for _ in range(2):
                with contextlib.suppress(OutcomeUnknown):
                    failing.log.seal(attempt.lease, "the end")
            expected = OutcomeUnknown if disk.syncs else Sealed
            assert isinstance(failing.refusal(attempt.lease, attempt.first, BATCHES[BATCH]), expected)
            assert disk.syncs <= 1
            assert attempt.seen_beside() == attempt.first

    @pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO], ids=["full", "broken"])
    def test_other_sessions_go_on_when_one_cannot(self, store: StoreUnderTest, code: int) -> None:
        filled, other = Filled(store), fresh_session()
        with needs.on_an_unlucky_disk(store) as (failing, disk):
            attempt = Attempt(failing, disk, filled)
            lease, _ = failing.open(other)
            disk.fill(0, code)
            failing.refusal(attempt.lease, attempt.first, BATCHES[BATCH])
            failing.append(lease, 0, BATCHES[BATCH])
            assert failing.seqs(other) == [0, 1, 2]
