"""One session on vLLM with a stub in vLLM's place: the moments that the real one does not show when asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import Any

import pytest

from antiphon.actors.stages.minicpmo.drawing import Drawing
from antiphon.actors.stages.minicpmo.thinker import Append, SegmentEnded, ThinkerDied
from antiphon.actors.stages.vllm_streaming.accounts import Account
from antiphon.actors.stages.vllm_streaming.session import Session

TIMEOUT_S = 30.0


class StubEngine:
    """Says what a test puts into `says` (None: the request ends), and writes down in which order it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.says: asyncio.Queue[Any] = asyncio.Queue()
        self.takes = asyncio.Event()
        """Whether an append is handed over at once."""
        self.takes.set()
        self.settles = asyncio.Event()
        self.settles.set()

    def submit(self, row: int, append: Append) -> Any:
        return append.number

    async def outputs(self, inputs: AsyncGenerator[Any, None], request: str) -> AsyncGenerator[Any, None]:
        taking = asyncio.create_task(self._take(inputs))
        try:
            while True:
                said = await self.says.get()
                if isinstance(said, Exception):
                    raise said
                if said is None:
                    return
                yield SimpleNamespace(outputs=[SimpleNamespace(token_ids=said[0], finish_reason=said[1])])
        finally:
            self.asked.append("aborted")
            taking.cancel()

    async def _take(self, inputs: AsyncGenerator[Any, None]) -> None:
        async for number in inputs:
            await self.takes.wait()
            self.asked.append(f"took {number}")

    async def settled(self) -> None:
        await self.settles.wait()
        self.asked.append("settled")


class Talk:
    def __init__(self) -> None:
        self.engine, self.said, self.failures = StubEngine(), [], []
        self.account = Account(row=0)
        self.heard, self.failed = asyncio.Event(), asyncio.Event()
        self.session = Session(
            self.account,
            engine=self.engine,
            request="s",
            states=None,
            timeout_s=TIMEOUT_S,
            ended=lambda account, context_len: setattr(account, "context_len", context_len),
            failed=self._failed,
        )

    def _failed(self, problem: BaseException) -> None:
        self.failures.append(problem)
        self.failed.set()
        self.session.died(ThinkerDied(str(problem)))

    def overdue(self, hours: float) -> TimeoutError | None:
        return self.session.overdue(asyncio.get_running_loop().time() + 3600 * hours)

    def begin(self, number: int = 0, max_tokens: int = 4) -> None:
        append = Append(
            number=number, pieces=((5, 6),), max_tokens=max_tokens, stop=frozenset((2,)), drawing=Drawing()
        )
        self.session.begin(append, self._heard)

    def _heard(self, what: Any) -> None:
        self.said.append(what)
        self.heard.set()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(30):
            while len(self.said) < count:
                self.heard.clear()
                await self.heard.wait()


async def test_tokens_that_come_together_are_told_one_by_one_and_a_segment_ends_once():
    talk = Talk()
    talk.begin()
    talk.engine.says.put_nowait(([7, 8], None))
    talk.engine.says.put_nowait(([9, 2], "stop"))
    await talk.until(5)
    *tokens, ended = talk.said
    assert [token.id for token in tokens] == [7, 8, 9, 2]
    assert (ended.why, ended.last_token, ended.n_in, ended.n_out, ended.context_len) == ("stop", 2, 2, 4, 5)
    await talk.session.close()


async def test_a_cancel_waits_for_what_is_on_its_way_and_for_the_release():
    """An append that vLLM is given behind its abort is a session of its own that nobody reads."""
    talk = Talk()
    talk.engine.takes.clear()
    talk.begin()
    closing = asyncio.create_task(talk.session.close())
    for _ in range(5):
        await asyncio.sleep(0)
    assert not closing.done()
    assert talk.engine.asked == []
    talk.engine.takes.set()
    await closing
    assert talk.engine.asked == ["took 0", "aborted", "settled"]
    assert [said.why for said in talk.said] == ["aborted"]


async def test_a_session_that_never_had_an_append_closes_without_asking_the_engine():
    talk = Talk()
    await talk.session.close()
    assert talk.engine.asked == []


async def test_an_append_has_its_time_and_between_two_nothing_is_expected():
    """The engine hangs without an error in one of its traps; however often it said something before."""
    talk = Talk()
    for number in range(2):
        assert talk.overdue(hours=1) is None
        talk.begin(number)
        talk.engine.says.put_nowait(([7], None))
        await talk.until(3 * number + 1)
        assert talk.overdue(hours=0) is None
        assert "append" in str(talk.overdue(hours=1))
        talk.engine.says.put_nowait(([2], "stop"))
        await talk.until(3 * (number + 1))
    await talk.session.close()


async def test_a_close_has_its_time_also_where_its_append_ends_meanwhile():
    talk = Talk()
    talk.engine.settles.clear()
    talk.begin()
    closing = asyncio.create_task(talk.session.close())
    await asyncio.sleep(0)
    talk.engine.says.put_nowait(([2], "stop"))
    for _ in range(9):
        await asyncio.sleep(0)
    assert talk.overdue(hours=0) is None
    assert "close" in str(talk.overdue(hours=1))
    talk.engine.settles.set()
    await closing


async def test_who_waits_for_the_end_of_a_session_is_told_that_the_engine_died():
    talk = Talk()
    talk.engine.takes.clear()
    talk.begin()
    closing = asyncio.create_task(talk.session.close())
    await asyncio.sleep(0)
    talk.session.died(ThinkerDied("it hangs"))
    async with asyncio.timeout(TIMEOUT_S):
        await closing
    assert [type(said) for said in talk.said] == [ThinkerDied]


@pytest.mark.parametrize(
    "said",
    [OSError("the engine core is dead"), ([7], "abort"), ([7], "error"), None],
    ids=["raises", "aborts", "fails", "ends"],
)
async def test_a_request_that_ends_by_itself_is_the_engines_end(said):
    talk = Talk()
    talk.begin()
    talk.engine.says.put_nowait(said)
    await talk.until(1)
    await talk.failed.wait()
    assert isinstance(talk.said[-1], ThinkerDied)
    assert not any(isinstance(what, SegmentEnded) for what in talk.said)
    await talk.session.close()


async def test_what_comes_of_no_append_is_the_engines_end():
    """A request that outlived its cancel would say the like; its tokens are nobody's."""
    talk = Talk()
    talk.begin()
    talk.engine.says.put_nowait(([2], "stop"))
    talk.engine.says.put_nowait(([7], None))
    await talk.until(2)
    await talk.failed.wait()
    assert "no append" in str(talk.failures[0])
