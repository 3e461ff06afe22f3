"""A life leaves one store and enters another, and comes back as the same bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest

from antiphon.events.conformance.drafts import as_stored, audio, opened, text
from antiphon.events.conformance.under_test import StoreUnderTest, fresh_session
from antiphon.events.container import Container
from antiphon.events.envelope import Draft
from antiphon.events.errors import Corrupt, LifeExists, LogError, NoSuchSession, NotALog
from antiphon.events.ids import SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.store import Expect, Log
from antiphon.events.units import Moment

from .evolving import Hummed, Whispered

Packed = tuple[bytes, bytes]
DRAFTS = [
    opened(1),
    text(1),
    audio(2),
    Draft(Hummed(tune="la"), Moment(3, 3)),
    Draft(Whispered(words="no"), Moment(4, 4), b"a voice"),
]


def packed(log: Log, session: SessionId, incarnation: int | None = None) -> Packed:
    """A life as its container's two streams."""
    with log.export(session, incarnation=incarnation) as container:
        return container.events.read(), container.audio.read()


def unpack(log: Log, life: Packed) -> None:
    events, blobs = life
    with Container(io.BytesIO(events), io.BytesIO(blobs), name="a container") as container:
        log.import_(container)


def _written(store: StoreUnderTest, *, sealed: bool) -> SessionId:
    lease, _ = store.open(fresh_session())
    store.append(lease, 0, DRAFTS[:1])
    store.append(lease, 1, DRAFTS[1:])
    if sealed:
        store.log.seal(lease, "the end")
    store.log.release(lease)
    return lease.session


def _written_in_memory(*, sealed: bool) -> tuple[SessionId, Packed]:
    log = MemoryLog()
    session = _written(StoreUnderTest(log, exclusive=False), sealed=sealed)
    return session, packed(log, session)


def _damaged(life: Packed) -> Iterator[Packed]:
    """Every byte of both streams damaged in turn; and some that are cut short or go on too long."""
    for n, stream in enumerate(life):
        for at in range(len(stream)):
            worse = stream[:at] + bytes([stream[at] ^ (1 << at % 8)]) + stream[at + 1 :]
            yield (worse, life[1]) if n == 0 else (life[0], worse)
    events, blobs = life
    yield from ((events[:-1], blobs), (events, blobs[:-1]), (events + b"\0", blobs), (events, blobs + b"\0"))
    yield from ((events + events, blobs), (b"", blobs), (events, b""), (blobs, events))


class Exchanging:
    """Export and import, between this store and one in memory."""

    @pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "unfinished"])
    def test_a_life_goes_to_another_store_and_comes_back_byte_for_byte(
        self, store: StoreUnderTest, sealed: bool
    ) -> None:
        session = _written(store, sealed=sealed)
        life, elsewhere = packed(store.log, session), MemoryLog()
        unpack(elsewhere, life)
        assert packed(elsewhere, session) == life
        assert list(elsewhere.read(session)) == list(store.log.read(session))
        assert elsewhere.head(session).sealed == sealed

    @pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "unfinished"])
    def test_a_life_of_another_store_is_taken_in_byte_for_byte(
        self, store: StoreUnderTest, sealed: bool
    ) -> None:
        session, life = _written_in_memory(sealed=sealed)
        unpack(store.log, life)
        assert packed(store.log, session) == life
        stored = list(store.log.read(session))
        assert [event.seq for event in stored] == list(range(len(DRAFTS)))
        assert as_stored(DRAFTS[2], stored[2])
        assert stored[4].blob is not None
        assert store.log.read_blob(session, stored[4].blob) == b"a voice"
        head = store.log.head(session)
        assert (head.next_seq, head.sealed, head.incarnation) == (len(DRAFTS), sealed, 0)

    def test_an_unfinished_life_that_was_taken_in_goes_on(self, store: StoreUnderTest) -> None:
        session, life = _written_in_memory(sealed=False)
        unpack(store.log, life)
        lease, head = store.open(session, Expect.RESUME)
        assert lease.writer_epoch > 1  # the log's own last writer had 1
        store.append(lease, head.next_seq, [audio(9)])
        assert store.seqs(session) == list(range(len(DRAFTS) + 1))

    def test_every_life_is_listed_and_goes_by_itself(self, store: StoreUnderTest) -> None:
        session = _written(store, sealed=True)
        lease, _ = store.open(session)
        store.append(lease, 0, [text(0)])
        assert store.log.lives(session) == (0, 1)
        elsewhere = MemoryLog()
        for incarnation in (1, 0):
            unpack(elsewhere, packed(store.log, session, incarnation))
        assert elsewhere.lives(session) == (0, 1)
        assert [stored.event for stored in elsewhere.read(session)] == [text(0).event]
        with pytest.raises(NoSuchSession):
            store.log.lives(SessionId("nobody"))

    def test_a_life_that_is_there_already_is_not_replaced(self, store: StoreUnderTest) -> None:
        session = _written(store, sealed=False)
        life = packed(store.log, session)
        lease, head = store.open(session, Expect.RESUME)
        store.append(lease, head.next_seq, [text(9)])
        with pytest.raises(LifeExists):
            unpack(store.log, life)
        assert store.log.head(session).next_seq == len(DRAFTS) + 1

    def test_what_is_taken_in_is_checked_to_the_last_byte_first(self, store: StoreUnderTest) -> None:
        session, life = _written_in_memory(sealed=True)
        for worse in _damaged(life):
            with pytest.raises((Corrupt, NotALog)):
                unpack(store.log, worse)
            with pytest.raises(NoSuchSession):
                store.log.head(session)
        unpack(store.log, life)
        assert packed(store.log, session) == life

    def test_an_export_has_whole_batches_while_the_log_is_written(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        for n in range(0, 30, 3):
            store.append(lease, n, [text(n), audio(n + 1), audio(n + 2)])
            elsewhere = MemoryLog()
            unpack(elsewhere, packed(store.log, lease.session))
            assert elsewhere.head(lease.session).next_seq == n + 3

    def test_nobody_to_export_is_said(self, store: StoreUnderTest) -> None:
        with pytest.raises(LogError, match="nobody"):
            packed(store.log, SessionId("nobody"))
