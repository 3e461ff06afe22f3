"""One session: one resumable request of vLLM, one append in flight, a task of its own that reads.

A segment's last token was drawn and never fed. vLLM forgets it with the next append, so the caller sends it
again at the head of that.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from antiphon.actors.stages.minicpmo.thinker import Append, Said, SegmentEnded, Token

from .accounts import Account

Failed = Callable[[BaseException], None]


class Requests(Protocol):
    """What a session needs of the engine."""

    def submit(self, row: int, append: Append) -> Any:
        """vLLM's StreamingInput of an append."""

    def outputs(self, inputs: AsyncGenerator[Any, None], request: str) -> AsyncGenerator[Any, None]:
        """vLLM's RequestOutputs of a resumable request. Closing it aborts the request."""

    async def settled(self) -> None:
        """When the engine core has done all that was sent to it before."""


class _UnderWay:
    def __init__(self, append: Append, said: Said, since: float) -> None:
        self.append, self.said, self.since = append, said, since
        self.drawn: list[int] = []
        self.heard_ns = 0


class Session:
    """All of it on the loop's thread."""

    def __init__(
        self,
        account: Account,
        *,
        engine: Requests,
        request: str,
        states: NDArray[np.float32] | None,
        timeout_s: float,
        ended: Callable[[Account, int], None],
        failed: Failed,
    ) -> None:
        """`states`: what the engine core writes of this session, shape (tokens, hidden). `failed` is told
        that the engine is of no more use. `timeout_s`: of an append, and of the end."""
        self._account, self._engine, self._request = account, engine, request
        self._states, self._timeout_s = states, timeout_s
        self._ended, self._failed = ended, failed
        self._appends: asyncio.Queue[Append] = asyncio.Queue()
        self._handed_over = asyncio.Event()
        """Whether vLLM holds no append of ours that it has not yet given to its engine core."""
        self._handed_over.set()
        self._under_way: _UnderWay | None = None
        self._reader: asyncio.Task[None] | None = None
        self._releasing: asyncio.Task[None] | None = None
        self._engine_is_dead = False
        self._closing_since: float | None = None
        self.step_ms = 0.0
        """The last time between two tokens of a segment."""

    def begin(self, append: Append, said: Said) -> None:
        self._under_way = _UnderWay(append, said, asyncio.get_running_loop().time())
        self._handed_over.clear()
        self._appends.put_nowait(append)
        if self._reader is None:
            self._reader = asyncio.create_task(self._read(), name=self._request)

    async def _inputs(self) -> AsyncGenerator[Any, None]:
        """Has no end: to vLLM that would be a last append of its own. It is cancelled with its request."""
        while True:
            append = await self._appends.get()
            yield self._engine.submit(self._account.row, append)
            # vLLM asks for the next one when it has handed this one over.
            self._handed_over.set()

    async def _read(self) -> None:
        """Never waits for anything else: vLLM (0.32) joins what a slow reader leaves lying."""
        outputs = self._engine.outputs(self._inputs(), self._request)
        try:
            async for output in outputs:
                self._heard(output.outputs[0])
            raise RuntimeError("vLLM has ended the request")
        except asyncio.CancelledError:
            raise
        except Exception as problem:  # noqa: BLE001  # it ends the engine for us
            self._failed(problem)
        finally:
            await outputs.aclose()

    def _heard(self, output: Any) -> None:
        under_way = self._under_way
        if under_way is None:
            raise RuntimeError(f"vLLM says {list(output.token_ids)} of no append")
        now = time.monotonic_ns()
        if under_way.drawn:
            self.step_ms = (now - under_way.heard_ns) / 1e6
        under_way.heard_ns = now
        for token in output.token_ids:
            under_way.drawn.append(token)
            under_way.said(Token(token, now))
        if output.finish_reason in ("stop", "length"):
            self._segment_ended(under_way)
        elif output.finish_reason is not None:
            raise RuntimeError(f"vLLM ended a segment with {output.finish_reason!r}")

    def _segment_ended(self, under_way: _UnderWay) -> None:
        """Its last token says why: where it ends by length, vLLM's stop_reason is the segment's before."""
        append, drawn = under_way.append, under_way.drawn
        self._under_way = None
        context_len = self._account.context_len + append.positions + len(drawn) - 1
        self._ended(self._account, context_len)
        hidden = None if self._states is None else self._states[: len(drawn) - 1].copy()
        under_way.said(
            SegmentEnded(
                why="stop" if drawn[-1] in append.stop else "length",
                last_token=drawn[-1],
                n_in=append.positions,
                n_out=len(drawn),
                context_len=context_len,
                hidden=hidden,
            )
        )

    def overdue(self, now: float) -> TimeoutError | None:
        """What is wrong if the engine owes an answer for too long. `now`: of the loop's clock."""
        since, what = self._closing_since, "close"
        if since is None and self._under_way is not None:
            since, what = self._under_way.since, "append"
        if since is None or now - since <= self._timeout_s:
            return None
        return TimeoutError(f"{what} of {self._request}: not answered within {self._timeout_s:g} s")

    async def close(self) -> None:
        """Close the generator, await the release. Its account is closing: nothing follows what is on its way.

        An append that reaches vLLM (0.32) behind an abort is a request that nobody reads and that holds its
        place for ever, so what is on its way is waited for first.
        """
        if self._reader is not None and not self._engine_is_dead:
            if self._releasing is None:
                self._closing_since = asyncio.get_running_loop().time()
                self._releasing = asyncio.create_task(self._release(self._reader))
            await asyncio.wait((self._releasing,))
            if not self._releasing.cancelled():  # by the engine's death
                self._releasing.result()
        if self._under_way is not None:
            self._aborted(self._under_way)

    async def _release(self, reader: asyncio.Task[None]) -> None:
        await self._handed_over.wait()
        reader.cancel()
        await asyncio.wait((reader,))
        if not reader.cancelled():
            reader.result()
        await self._engine.settled()

    def _aborted(self, under_way: _UnderWay) -> None:
        self._under_way = None
        append, drawn = under_way.append, under_way.drawn
        under_way.said(
            SegmentEnded(
                why="aborted",
                last_token=drawn[-1] if drawn else -1,
                n_in=append.positions,
                n_out=len(drawn),
                context_len=self._account.context_len + append.positions + max(0, len(drawn) - 1),
            )
        )

    def died(self, problem: Any) -> None:
        """Tell who waits for an append, or for the end. No more of this session is heard."""
        self._engine_is_dead = True
        if self._under_way is not None:
            under_way = self._under_way
            self._under_way = None
            under_way.said(problem)
        if self._reader is not None and self._reader is not asyncio.current_task():
            self._reader.cancel()
        if self._releasing is not None:
            self._releasing.cancel()
