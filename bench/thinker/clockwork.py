"""No model: tokens at the pace of one, so that what the runtime costs shows by itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from heapq import heappop, heappush

from antiphon.actors.stages.minicpmo.thinker import (
    Append,
    Facts,
    Health,
    Key,
    Rejected,
    Said,
    SegmentEnded,
    Token,
)

FIRST_S, NEXT_S = 0.020, 0.008
"""About what vLLM takes on an H200."""


class Clockwork:
    """Implements Thinker."""

    def __init__(self, sessions: int, context_tokens: int, vocabulary: int, hidden: int) -> None:
        self.facts = Facts(
            name="clockwork",
            max_sessions=sessions,
            context_tokens=context_tokens,
            kv_tokens=sessions * context_tokens,
            hidden=hidden,
            vocabulary=vocabulary,
            can_truncate=False,
            gives_hidden=False,
        )
        self._due: list[tuple[float, int, Append, Said, int]] = []
        self._changed = threading.Condition()
        self._count, self._stopped = 0, False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def open(self, key: Key) -> Future[None]:
        return _done()

    def append(self, key: Key, append: Append, said: Said) -> None:
        self._push(FIRST_S, append, said, 0)

    def _push(self, after: float, append: Append, said: Said, index: int) -> None:
        with self._changed:
            self._count += 1
            heappush(self._due, (time.monotonic() + after, self._count, append, said, index))
            self._changed.notify()

    def truncate(self, key: Key, context_len: int) -> Future[None]:
        raise Rejected("out_of_order", "it has no context")

    def close(self, key: Key) -> Future[None]:
        return _done()

    def health(self) -> Health:
        return Health(sessions=0, kv_tokens=0, step_ms=0.0)

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped:
            with self._changed:
                left = self._due[0][0] - time.monotonic() if self._due else None
                if left is None or left > 0:
                    self._changed.wait(left)
                    continue
                _, _, append, said, index = heappop(self._due)
            self._say(append, said, index)

    def _say(self, append: Append, said: Said, index: int) -> None:
        ends = index + 1 == append.max_tokens
        said(Token(_ending(append.stop) if ends else 10, time.monotonic_ns()))
        if not ends:
            self._push(NEXT_S, append, said, index + 1)
            return
        said(
            SegmentEnded(
                why="stop",
                last_token=_ending(append.stop),
                n_in=append.positions,
                n_out=index + 1,
                context_len=0,
            )
        )


def _ending(stop: frozenset[int] | Sequence[int]) -> int:
    return min(stop)


def _done() -> Future[None]:
    done: Future[None] = Future()
    done.set_result(None)
    return done
