"""What was computed from a log may be kept beside it: given back whole or not at all, no part of the log."""

from __future__ import annotations

import pytest

from antiphon.events.conformance.drafts import audio, opened, text
from antiphon.events.conformance.under_test import StoreUnderTest, fresh_session
from antiphon.events.errors import NoSuchSession
from antiphon.events.ids import SessionId
from antiphon.events.store import Lease

from .exchanging import packed


class Keeping:
    """Checkpoints, for instance. A store that keeps nothing passes, too."""

    def test_what_is_kept_is_given_back_whole_or_not_at_all(self, store: StoreUnderTest) -> None:
        lease = _begun(store)
        assert self._kept(store, lease) is None
        for data in (b"first", b"", bytes(range(256)) * 4_000):
            store.log.keep_derived(lease.session, lease.incarnation, "state", data)
            assert self._kept(store, lease) in (data, None)
        assert self._kept(store, lease, "places") is None

    def test_who_writes_next_finds_what_the_last_one_kept(self, store: StoreUnderTest) -> None:
        lease = _begun(store)
        store.log.keep_derived(lease.session, lease.incarnation, "state", b"kept")
        lease, head = store.reopen(lease)
        assert self._kept(store, lease) in (b"kept", None)
        assert head.next_seq == 3

    def test_it_is_no_part_of_the_log(self, store: StoreUnderTest) -> None:
        lease = _begun(store)
        before = packed(store.log, lease.session)
        store.log.keep_derived(lease.session, lease.incarnation, "state", b"kept")
        assert packed(store.log, lease.session) == before
        assert store.seqs(lease.session) == [0, 1, 2]

    def test_it_goes_with_the_seal(self, store: StoreUnderTest) -> None:
        lease = _begun(store)
        store.log.keep_derived(lease.session, lease.incarnation, "state", b"kept")
        store.log.seal(lease, "ended")
        assert store.log.head(lease.session).sealed
        assert self._kept(store, lease) is None

    def test_of_a_session_that_is_not_there_nothing_is_kept(self, store: StoreUnderTest) -> None:
        nobody = SessionId("sess_nobody")
        with pytest.raises(NoSuchSession):
            store.log.keep_derived(nobody, 0, "state", b"kept")
        with pytest.raises(NoSuchSession):
            store.log.derived(nobody, 0, "state")

    @staticmethod
    def _kept(store: StoreUnderTest, lease: Lease, name: str = "state") -> bytes | None:
        return store.log.derived(lease.session, lease.incarnation, name)


def _begun(store: StoreUnderTest) -> Lease:
    lease, _ = store.open(fresh_session())
    store.append(lease, 0, [opened(lease.writer_epoch), text(1), audio(2)])
    return lease
