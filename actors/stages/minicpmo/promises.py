"""Futures that somebody waits for. When the stage dies each is told: nobody waits for ever."""

from __future__ import annotations

import threading
from concurrent.futures import Future

from antiphon.actors.stages.contract import EngineDied


class Promises:
    """From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: set[Future[None]] = set()
        self._why = ""

    def make(self) -> Future[None]:
        promise: Future[None] = Future()
        with self._lock:
            self._open.add(promise)
            why = self._why
        if why:
            self.settle(promise, EngineDied(why))
        return promise

    def settle(self, promise: Future[None], error: BaseException | None = None) -> None:
        """Once: whatever is said of it later does not count."""
        with self._lock:
            if promise not in self._open:
                return
            self._open.remove(promise)
        if error is None:
            promise.set_result(None)
        else:
            promise.set_exception(error)

    def break_all(self, why: str) -> None:
        """Those that are open, and those that are still made."""
        with self._lock:
            self._why = why
            broken = tuple(self._open)
        for promise in broken:
            self.settle(promise, EngineDied(why))
