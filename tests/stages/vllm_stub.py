"""In vLLM's place: an engine that answers at once with the token that ends a segment, or not at all."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from types import SimpleNamespace
from typing import Any, Literal

from antiphon.actors.stages.minicpmo.thinker import Append, Facts
from antiphon.actors.stages.vllm_streaming.versions import Dialect

STOP = 2


class StubVllm:
    """Has what VllmThinker asks of engine.Running."""

    def __init__(self, places: int, most_tokens: int) -> None:
        self.facts = Facts(
            name="stub",
            max_sessions=places,
            context_tokens=128,
            kv_tokens=places * 128,
            hidden=4,
            vocabulary=50,
            can_truncate=False,
            gives_hidden=True,
        )
        self.dialect, self.most_tokens, self.states = Dialect("0.0", True), most_tokens, None
        self.llm = SimpleNamespace(errored=False)
        self.does: Literal["answers", "hangs", "releases nothing", "ends requests"] = "answers"
        self.hangs = threading.Event()
        """Whether an append has come that is not answered."""
        self.submitted: list[tuple[int, Append]] = []
        """Each append with its session's row."""

    def submit(self, row: int, append: Append) -> Append:
        self.submitted.append((row, append))
        return append

    async def outputs(self, inputs: AsyncGenerator[Append, None], request: str) -> AsyncGenerator[Any, None]:
        async for append in inputs:
            if self.does == "ends requests":
                return
            if self.does == "hangs":
                self.hangs.set()
                await asyncio.Event().wait()
            yield SimpleNamespace(
                outputs=[SimpleNamespace(token_ids=[min(append.stop)], finish_reason="stop")]
            )

    async def settled(self) -> None:
        if self.does == "releases nothing":
            await asyncio.Event().wait()

    async def stop(self) -> None: ...
