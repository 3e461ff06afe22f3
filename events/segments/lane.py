"""Where appends are written: inline, in the caller's thread, while the disk is quick; else in one thread.

A hop to a thread costs several times a write into the page cache, so inline is the rule. But the kernel may
hold a writer up for tens of milliseconds when too much is dirty, and then every session of the process would
stand still. `slow_limit` slow writes within ten seconds, or one that takes as long as they would together,
move all appends of the store to one thread; they return when there was no slow write for ten seconds and
nothing waits. A busy processor makes single writes slow too, and there the thread would only make it worse
(by a tenth of all work at 1,000 frames a second): hence the limit is not small. Order and answers are the
same both ways: results come back to the owning thread through `deliver`.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Protocol

from ..errors import LogError
from ..store import Deliver
from .batch import Batch

SLOW_S = 0.005
PERIOD_S = 10.0


class Stats:
    """How writing goes, for metrics.

    `observe` is called with the seconds of each append (blobs and frames together), in the thread that wrote.
    """

    __slots__ = ("appends", "backlog", "observe", "slow_writes")

    def __init__(self) -> None:
        self.appends = self.slow_writes = self.backlog = 0
        self.observe: Callable[[float], object] = float  # nobody looks


class Writes(Protocol):
    """Who brings a batch to the disk: `write` there, in whichever thread; `settle` in the owner's."""

    def write(self, batch: Batch) -> LogError | None: ...

    def settle(self, batch: Batch, error: LogError | None) -> None: ...


class Lane:
    """The way of all appends of one store to the disk. All but `_work` and what it runs is the owner's."""

    def __init__(self, deliver: Deliver, clock: Callable[[], float], slow_limit: int) -> None:
        self.stats = Stats()
        self._deliver, self._clock = deliver, clock
        self._slow: deque[float] = deque(maxlen=slow_limit)
        self._stuck = slow_limit * SLOW_S
        self._in_thread = False
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def write(self, writer: Writes, batch: Batch) -> None:
        if self._in_thread and not self._calm():
            self.stats.backlog += 1
            self._queue.put(partial(self._write_there, writer, batch))
        else:
            writer.settle(batch, self._timed(writer, batch))

    def write_aside(self, writer: Writes, batch: Batch) -> None:
        """Write in the thread, however quick the disk is: for what takes long by its nature."""
        self._start_thread()
        self.stats.backlog += 1
        self._queue.put(partial(self._write_there, writer, batch))

    def flush(self) -> None:
        """Return when everything queued has been written. Its answers may still be on their way."""
        if self._thread is not None and self.stats.backlog:
            written = threading.Event()
            self._queue.put(written.set)
            # Alive, because delivering to an owner that is gone ends the thread.
            while self._thread.is_alive() and not written.wait(0.1):
                pass

    def close(self) -> None:
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _calm(self) -> bool:
        if self.stats.backlog == 0 and self._clock() - self._slow[-1] > PERIOD_S:
            self._in_thread = False
        return not self._in_thread

    def _write_there(self, writer: Writes, batch: Batch) -> None:
        error = self._timed(writer, batch)
        self._deliver(partial(self._written, writer, batch, error))

    def _written(self, writer: Writes, batch: Batch, error: LogError | None) -> None:
        self.stats.backlog -= 1
        writer.settle(batch, error)

    def _timed(self, writer: Writes, batch: Batch) -> LogError | None:
        started = self._clock()
        error = writer.write(batch)
        ended = self._clock()
        stats = self.stats
        stats.appends += 1
        took = ended - started
        stats.observe(took)
        if took >= SLOW_S:
            stats.slow_writes += 1
            self._slow.append(ended)
            often = len(self._slow) == self._slow.maxlen and ended - self._slow[0] <= PERIOD_S
            if often or took >= self._stuck:
                self._move_to_thread()
        return error

    def _move_to_thread(self) -> None:
        self._in_thread = True
        self._start_thread()

    def _start_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="log-writer", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            job()
