"""A thousand sessions at once cost no more descriptors than promised, and each append no more work."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from antiphon.events.conformance.drafts import audio, text
from antiphon.events.conformance.under_test import StoreUnderTest, fresh_session
from antiphon.events.store import Lease

SESSIONS, APPENDS = 1_000, 10


@contextlib.contextmanager
def _as_many_files_as_may_be() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _lines_run(call: Callable[[], object]) -> int:
    """How many lines of Python a call runs: work that can be counted without a clock."""
    lines = 0

    def count(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        call()
    finally:
        sys.settrace(before)
    return lines


class Crowding:
    """Many open sessions."""

    def test_a_thousand_open_sessions_take_ten_appends_each(self, store: StoreUnderTest) -> None:
        with _as_many_files_as_may_be():
            before = _descriptors() if store.most_descriptors else 0
            leases = [store.open(fresh_session())[0] for _ in range(SESSIONS)]
            for n in range(APPENDS):
                for lease in leases:
                    store.append(lease, n, [audio(n)])
            if store.most_descriptors is not None:
                assert _descriptors() - before <= store.most_descriptors(SESSIONS)
            for lease in leases:
                assert store.seqs(lease.session) == list(range(APPENDS))
                store.log.release(lease)

    def test_an_append_costs_the_same_among_many_sessions(self, store: StoreUnderTest) -> None:
        with _as_many_files_as_may_be():
            alone = self._cost(store, store.open(fresh_session())[0])
            others = [store.open(fresh_session())[0] for _ in range(SESSIONS)]
            among_many = self._cost(store, store.open(fresh_session())[0])
            for lease in others:
                store.log.release(lease)
        assert among_many <= 2 * alone

    def _cost(self, store: StoreUnderTest, lease: Lease) -> int:
        store.append(lease, 0, [text(0)])
        return _lines_run(lambda: store.append(lease, 1, [text(1)]))
