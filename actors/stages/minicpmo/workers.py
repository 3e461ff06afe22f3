"""Threads that do one thing after the other."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

Call = Callable[[], None]


class Worker:
    """`failed` is called on its thread with what a call raises, and nothing is done any more after that.
    `tick` is called about twice a second."""

    def __init__(self, name: str, failed: Callable[[Exception], None], tick: Call | None = None) -> None:
        self._failed, self._tick = failed, tick
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"minicpmo-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def post(self, call: Call) -> None:
        """From any thread. In order."""
        self._calls.put(call)

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
            try:
                return self._calls.get(timeout=0.5 if self._tick else None)
            except queue.Empty:
                assert self._tick is not None
                self._tick()
