"""Threads that do one thing after the other."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable

Call = Callable[[], None]

TICK_S = 0.5


class Worker:
    """`failed` is called on its thread with what a call raises, and nothing is done any more after that.
    `tick` is called every TICK_S, however much there is to do."""

    def __init__(self, name: str, failed: Callable[[Exception], None], tick: Call | None = None) -> None:
        self._failed, self._tick = failed, tick
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._behind: deque[Call] = deque()
        self._due = time.monotonic() + TICK_S
        self._thread = threading.Thread(target=self._run, name=f"minicpmo-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def post(self, call: Call) -> None:
        """From any thread. In order."""
        self._calls.put(call)

    def post_behind(self, call: Call) -> None:
        """From any thread. In order among themselves; each only where nothing that was posted waits."""
        self._behind.append(call)
        self._calls.put(_look_behind)

    def stop(self) -> None:
        if self._thread.is_alive():
            self._calls.put(None)
            self._thread.join()

    def _run(self) -> None:
        try:
            while True:
                call = self._next()
                if call is None:
                    return
                call()
        except Exception as problem:  # noqa: BLE001  # nobody may wait for ever for a thread that is gone
            self._failed(problem)

    def _next(self) -> Call | None:
        while True:
            if self._tick is not None and time.monotonic() >= self._due:
                self._tick()
                self._due = time.monotonic() + TICK_S
            try:
                return self._calls.get_nowait()
            except queue.Empty:
                if self._behind:
                    return self._behind.popleft()
            try:
                return self._calls.get(timeout=self._left())
            except queue.Empty:
                continue

    def _left(self) -> float | None:
        return None if self._tick is None else max(self._due - time.monotonic(), 0)


def _look_behind() -> None:
    """Wakes a worker that waits."""
