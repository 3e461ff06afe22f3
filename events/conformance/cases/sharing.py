"""Several processes on one store: one writer at a time, and every place in a log is won once."""

from __future__ import annotations

from antiphon.events.conformance import needs
from antiphon.events.conformance.drafts import text
from antiphon.events.conformance.processes import Children
from antiphon.events.conformance.under_test import StoreUnderTest, fresh_session
from antiphon.events.errors import Fenced
from antiphon.events.ids import SessionId
from antiphon.events.store import Lease
from antiphon.events.vocabulary import TextSpoken, WriterOpened

RACES = 1_000
BEGUN = 60


def begin(store: StoreUnderTest) -> Lease:
    """A session with one event, which nobody holds open."""
    lease, _ = store.open(fresh_session())
    store.append(lease, 0, [text(0)])
    store.log.release(lease)
    return lease


class Sharing:
    """What several processes do at once."""

    def test_of_two_writers_racing_a_thousand_times_one_wins_each_place(self, store: StoreUnderTest) -> None:
        with needs.children(store) as children:
            session = begin(store).session
            pair = [children.start("race", session, RACES // 2) for _ in range(2)]
            assert [child.wait() for child in pair] == [0, 0]
            events = list(store.log.read(session))[1:]
        assert [event.seq for event in events] == list(range(1, RACES + 1))
        said: dict[str, list[int]] = {}
        for stored in events:
            assert isinstance(stored.event, TextSpoken)
            pid, n = stored.event.text.split()
            said.setdefault(pid, []).append(int(n))
        assert list(said.values()) == [list(range(RACES // 2))] * 2

    def test_of_two_that_begin_a_session_one_does(self, store: StoreUnderTest) -> None:
        needs.exclusive(store)
        with needs.children(store) as children:
            names = [fresh_session() for _ in range(BEGUN)]
            pair = [children.start("begin", *names) for _ in range(2)]
            begun = [name for child in pair for name in iter(child.line, "that is all")]
        assert sorted(begun) == sorted(names)

    def test_a_lease_is_fenced_by_the_process_that_took_over(self, store: StoreUnderTest) -> None:
        with needs.children(store) as children:
            lease = begin(store)
            writer = children.start("write", lease.session, 3, "release")
            end = int(writer.line())
            writer.wait()
        error = store.refusal(lease, end, [text(0)])
        assert isinstance(error, Fenced)
        assert error.current > lease.writer_epoch
        assert store.log.head(lease.session).next_seq == end

    def test_an_epoch_is_never_used_again_after_a_kill(self, store: StoreUnderTest) -> None:
        with needs.children(store) as children:
            session = begin(store).session
            epochs = [self._epoch_after_a_kill(store, children, session) for _ in range(3)]
        events = [stored.event for stored in store.log.read(session)]
        recorded = [event.writer_epoch for event in events if isinstance(event, WriterOpened)]
        assert len(set(epochs + recorded)) == len(epochs) + len(recorded)
        assert epochs == sorted(epochs)

    def _epoch_after_a_kill(self, store: StoreUnderTest, children: Children, session: SessionId) -> int:
        children.start("write", session, 2, "die").wait()
        lease, _ = store.reopen(Lease(session, 0, 0))
        store.log.release(lease)
        return lease.writer_epoch
