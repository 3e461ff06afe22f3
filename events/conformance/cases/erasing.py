"""What was erased is gone: from every file of the store, for every reader, and for ever."""

from __future__ import annotations

import contextlib
import errno
from pathlib import Path

import pytest

from antiphon.events.conformance import needs
from antiphon.events.conformance.drafts import audio, opened, text
from antiphon.events.conformance.under_test import StoreUnderTest, fresh_session
from antiphon.events.envelope import Draft
from antiphon.events.errors import Erased, LifeExists, Locked, LogError, NoSuchSession, Sealed
from antiphon.events.ids import SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.store import Expect, Lease, Scope, SealedMark

from .exchanging import packed, unpack
from .following import in_a_loop

SAID = b"this must never be found again. "
VOICE = SAID * 40


def _spoken(store: StoreUnderTest) -> Lease:
    """A session with a voice in it, which its writer still holds."""
    lease, _ = store.open(fresh_session())
    store.append(lease, 0, [opened(lease.writer_epoch), text(1), _voice(2)])
    store.append(lease, 3, [_voice(3), text(4)])
    return lease


def _voice(n: int) -> Draft:
    return Draft(audio(n).event, audio(n).at, blob=VOICE)


def _found(folder: Path) -> list[Path]:
    """The files that hold any of it."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if SAID[:8] in path.read_bytes()]


def _assert_erased(store: StoreUnderTest, session: SessionId) -> None:
    for stored in store.log.read(session):
        if stored.blob is not None:
            assert stored.blob.length == len(VOICE)  # what was there is still known
            with pytest.raises(Erased):
                store.log.read_blob(session, stored.blob)
    head = store.log.head(session)
    assert (head.next_seq, head.sealed, head.erased) == (5, True, True)


class Erasing:
    """Audio alone, or everything."""

    def test_erased_audio_is_in_no_file_of_the_store(self, store: StoreUnderTest) -> None:
        folder, session = needs.directory(store), self._left(store)
        assert _found(folder)
        store.log.erase(session, Scope.AUDIO)
        assert _found(folder) == []

    def test_after_its_audio_a_log_says_what_it_said(self, store: StoreUnderTest) -> None:
        session = self._left(store)
        before = list(store.log.read(session))
        for _ in range(2):  # repeating is harmless
            store.log.erase(session, Scope.AUDIO)
            assert list(store.log.read(session)) == before
            _assert_erased(store, session)
        with pytest.raises(Sealed):
            store.open(session, Expect.RESUME)
        with needs.beside(store) as other:
            _assert_erased(other, session)

    def test_an_erased_life_travels_without_its_audio(self, store: StoreUnderTest) -> None:
        session, elsewhere = self._left(store), MemoryLog()
        store.log.erase(session, Scope.AUDIO)
        life = packed(store.log, session)
        assert all(SAID not in stream for stream in life)
        unpack(elsewhere, life)
        assert packed(elsewhere, session) == life
        _assert_erased(store.through(elsewhere), session)

    def test_nothing_is_erased_under_a_living_writer(self, store: StoreUnderTest) -> None:
        needs.exclusive(store)
        lease = _spoken(store)
        with needs.beside(store) as other:
            for scope in Scope:
                with pytest.raises(Locked):
                    other.log.erase(lease.session, scope)
        assert not store.log.head(lease.session).erased
        store.append(lease, 5, [_voice(5)])

    @in_a_loop
    async def test_who_follows_an_erased_life_is_told_that_it_has_ended(self, store: StoreUnderTest) -> None:
        session = self._left(store)
        following = store.log.follow(session)
        for _ in range(6):
            await anext(following)
        store.log.erase(session, Scope.AUDIO)
        assert isinstance(await anext(following), SealedMark)

    def test_a_life_that_was_erased_as_a_whole_is_no_more_and_its_number_stays_taken(
        self, store: StoreUnderTest
    ) -> None:
        session = self._left(store)
        life = packed(store.log, session)
        for _ in range(2):
            store.log.erase(session, Scope.ALL)
            log = store.log
            for ask in (log.head, log.lives, log.export, lambda session: [*store.log.read(session)]):
                with pytest.raises(NoSuchSession):
                    ask(session)
        assert session not in [head.session for head in store.log.sessions()]
        with pytest.raises(LifeExists):
            unpack(store.log, life)
        lease, head = store.open(session)
        assert (lease.incarnation, head.next_seq) == (1, 0)

    def test_a_whole_life_that_was_erased_is_in_no_file_of_the_store(self, store: StoreUnderTest) -> None:
        folder, session = needs.directory(store), self._left(store)
        store.log.erase(session, Scope.ALL)
        assert _found(folder) == []

    @pytest.mark.parametrize("scope", Scope)
    def test_one_life_is_erased_and_the_other_is_not(self, store: StoreUnderTest, scope: Scope) -> None:
        old = _spoken(store)
        store.log.seal(old, "the end")
        new, _ = store.open(old.session)
        store.append(new, 0, [_voice(0)])
        store.log.erase(old.session, scope, incarnation=old.incarnation)
        store.append(new, 1, [_voice(1)])
        (first, _) = store.log.read(old.session)
        assert first.blob is not None
        assert store.log.read_blob(old.session, first.blob) == VOICE
        assert store.log.lives(old.session) == ((0, 1) if scope is Scope.AUDIO else (1,))

    def test_all_lives_are_erased_when_none_is_named(self, store: StoreUnderTest) -> None:
        folder, old = needs.directory(store), _spoken(store)
        store.log.seal(old, "the end")
        new, _ = store.open(old.session)
        store.append(new, 0, [_voice(0)])
        store.log.release(new)
        store.log.erase(old.session, Scope.AUDIO)
        assert _found(folder) == []
        assert store.log.lives(old.session) == (0, 1)

    def test_an_erasure_that_fails_leaves_the_life_readable_or_erased(self, store: StoreUnderTest) -> None:
        folder, session = needs.directory(store), self._left(store)
        for room in range(0, 200, 3):
            with needs.on_an_unlucky_disk(store) as (failing, disk):
                disk.fill(room, errno.EIO)
                with contextlib.suppress(LogError, OSError):
                    failing.log.erase(session, Scope.AUDIO)
            with needs.beside(store) as other:
                if other.log.head(session).erased:
                    _assert_erased(other, session)
                else:
                    assert other.seqs(session) == [0, 1, 2, 3, 4]
                    assert _found(folder)
        store.log.erase(session, Scope.AUDIO)
        assert _found(folder) == []

    def test_nobody_to_erase_is_said(self, store: StoreUnderTest) -> None:
        with pytest.raises(NoSuchSession):
            store.log.erase(SessionId("nobody"), Scope.AUDIO)

    def _left(self, store: StoreUnderTest) -> SessionId:
        """A session with a voice in it that nobody holds open."""
        lease = _spoken(store)
        store.log.release(lease)
        return lease.session
