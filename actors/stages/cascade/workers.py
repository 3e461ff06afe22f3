"""Threads that do one kind of work, the most urgent first and equally urgent in the order it came."""

import itertools
import queue
import threading
from collections.abc import Callable

import structlog

log = structlog.get_logger()

Work = Callable[[], object]


class Workers:
    """`count` threads named `name`. Work reports its own failures; what it raises is logged and forgotten."""

    def __init__(self, name: str, count: int) -> None:
        self._queue: queue.PriorityQueue[tuple[int, int, Work | None]] = queue.PriorityQueue()
        self._order = itertools.count()
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{k}", daemon=True) for k in range(count)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def submit(self, work: Work, *, urgency: int = 0) -> None:
        """Have `work` done; the lowest number is the most urgent."""
        self._queue.put((urgency, next(self._order), work))

    def stop(self) -> None:
        """End when the work under way has ended; what waits is not done."""
        for _ in self._threads:
            self._queue.put((-1, next(self._order), None))
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def _run(self) -> None:
        while True:
            _, _, work = self._queue.get()
            if work is None:
                return
            try:
                work()
            except Exception:
                log.exception("worker.failed", thread=threading.current_thread().name)
