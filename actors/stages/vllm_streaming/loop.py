"""An asyncio loop in a thread of its own: vLLM's front lives there, apart from the stage's loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")


class Loop:
    def __init__(self, name: str) -> None:
        self._loop = uvloop.new_event_loop()
        self._lock = threading.Lock()
        self._calls: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        """Not taken yet. To wake the loop is a write into a pipe, and units come in bursts, one for each
        session: only the first call wakes it."""
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def call(self, function: Callable[..., None], *arguments: Any) -> None:
        """On the loop's thread, in the order of the calls."""
        with self._lock:
            self._calls.append((function, arguments))
            if len(self._calls) == 1:
                self._loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        with self._lock:
            calls, self._calls = self._calls, []
        for function, arguments in calls:
            self._loop.call_soon(function, *arguments)

    def run(self, task: Coroutine[Any, Any, T]) -> Future[T]:
        """Begun behind what was called before."""
        return asyncio.run_coroutine_threadsafe(task, self._loop)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
