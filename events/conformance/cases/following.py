"""Everything from a place, then live: no gap, no repetition, and an end."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Concatenate, ParamSpec

import pytest

from antiphon.events.conformance import needs
from antiphon.events.conformance.drafts import audio, opened, text
from antiphon.events.conformance.processes import Child
from antiphon.events.conformance.under_test import StoreUnderTest, fresh_session
from antiphon.events.envelope import Stored
from antiphon.events.errors import NoSuchSession
from antiphon.events.ids import Seq, SessionId
from antiphon.events.store import CaughtUp, Expect, Log, SealedMark
from antiphon.events.vocabulary import WriterOpened

from .sharing import begin

WAIT_S = 30.0
P = ParamSpec("P")
Following_ = AsyncIterator[Stored | CaughtUp | SealedMark]


def in_a_loop(case: Callable[Concatenate[P], Awaitable[None]]) -> Callable[Concatenate[P], None]:
    """Run an async case in an event loop of its own, so that the suite needs no other plugin."""

    @functools.wraps(case)
    def run(*arguments: P.args, **named: P.kwargs) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(WAIT_S):
                await case(*arguments, **named)

        asyncio.run(bounded())

    return run


async def _seq(following: Following_) -> int:
    item = await anext(following)
    assert isinstance(item, Stored)
    return item.seq


async def _collect(log: Log, session: SessionId) -> tuple[list[int], int]:
    """All seqs up to the seal, and how often it was said that we had caught up."""
    seqs, caught_up = list[int](), 0
    async for item in log.follow(session):
        if isinstance(item, Stored):
            seqs.append(item.seq)
        elif isinstance(item, CaughtUp):
            caught_up += 1
        else:
            assert item == SealedMark(Seq(len(seqs)))
    return seqs, caught_up


class Following:
    """Readers that stay."""

    @in_a_loop
    async def test_follow_says_what_is_there_then_caught_up_then_what_comes(
        self, store: StoreUnderTest
    ) -> None:
        lease, _ = store.open(fresh_session())
        store.append(lease, 0, [text(0), text(1)])
        following = store.log.follow(lease.session)
        assert [await _seq(following), await _seq(following)] == [0, 1]
        assert await anext(following) == CaughtUp(Seq(2))
        store.append(lease, 2, [audio(2)])
        assert await _seq(following) == 2
        lease, _ = store.reopen(lease)
        store.append(lease, 3, [opened(lease.writer_epoch)])
        assert await _seq(following) == 3
        store.log.seal(lease, "the end")
        assert await anext(following) == SealedMark(Seq(4))
        with pytest.raises(StopAsyncIteration):
            await anext(following)

    @in_a_loop
    async def test_follow_begins_where_it_is_told(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        store.append(lease, 0, [text(0), text(1), text(2)])
        from_middle, from_beyond = (store.log.follow(lease.session, start=start) for start in (2, 4))
        assert await _seq(from_middle) == 2
        assert await anext(from_middle) == CaughtUp(Seq(3))
        assert await anext(from_beyond) == CaughtUp(Seq(3))
        store.append(lease, 3, [text(3), text(4)])
        assert [await _seq(from_middle), await _seq(from_middle)] == [3, 4]
        assert await _seq(from_beyond) == 4

    @in_a_loop
    async def test_follow_of_a_sealed_log_still_says_that_it_caught_up(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        store.append(lease, 0, [text(0)])
        store.log.seal(lease, "the end")
        first, *said = [item async for item in store.log.follow(lease.session)]
        assert isinstance(first, Stored)
        assert said == [CaughtUp(Seq(1)), SealedMark(Seq(1))]

    @in_a_loop
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
        for seqs, caught_up in await asyncio.gather(*followers):
            assert seqs == list(range(seq))
            assert caught_up == 1

    @in_a_loop
    async def test_nobody_to_follow_is_said_at_once(self, store: StoreUnderTest) -> None:
        with pytest.raises(NoSuchSession):
            await anext(store.log.follow(SessionId("nobody")))

    @in_a_loop
    async def test_follow_sees_other_processes_write_die_take_over_and_seal(
        self, store: StoreUnderTest
    ) -> None:
        with needs.children(store) as children:
            session, seqs, caught_up = begin(store).session, list[int](), 0
            ends = iter(["die", "release", "seal"])
            async for item in store.log.follow(session):
                if isinstance(item, Stored):
                    seqs.append(item.seq)
                    if isinstance(item.event, WriterOpened) and (end := next(ends, None)):
                        children.start("write", session, 150, end)
                elif isinstance(item, CaughtUp):
                    caught_up += 1
                    children.start("write", session, 150, next(ends))
        assert seqs == list(range(store.log.head(session).next_seq))
        assert len(seqs) > 3 * 150
        assert caught_up == 1

    def test_another_process_follows_before_during_and_after(self, store: StoreUnderTest) -> None:
        with needs.children(store) as children:
            session = begin(store).session
            before = children.start("follow", session)
            assert [before.line(), before.line()] == ["0", "caught up"]
            lease, head = store.open(session, Expect.RESUME)
            seq = int(head.next_seq)
            during: list[Child] = []
            for n in range(100):
                seq = store.append(lease, seq, [audio(seq + k) for k in range(n % 5 + 1)]).last + 1
                if n == 30:
                    during.append(children.start("follow", session))
                if n == 60:
                    lease, _ = store.reopen(lease)
            store.log.seal(lease, "the end")
            after = children.start("follow", session)
            places = [str(n) for n in range(seq)]
            assert [*before.lines()] == [*places[1:], "sealed"]
            for follower in (*during, after):
                said = [*follower.lines()]
                assert said.count("caught up") == 1
                assert [word for word in said if word != "caught up"] == [*places, "sealed"]
