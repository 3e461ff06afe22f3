"""What bench.log measures of one store, once: appends, replay, space, and the opening of a session."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec import Struct

from antiphon.events.envelope import Draft
from bench.figures import quantile
from bench.log_events import conversation, typed_bytes
from bench.log_stores import Recorder, Segments, Sqlite, Store

Level = Literal["process", "power"]
REPLAYED = 20_000
OPENED = 100
MANY = 500


class Contender(Struct, frozen=True):
    """A store to measure. `level`: what an answer of it promises."""

    name: str
    level: Level
    make: Callable[[Path], Store]


OURS = Contender("segment log", "process", Segments)
NORMAL = Contender("SQLite WAL, NORMAL", "process", partial(Sqlite, synchronous="NORMAL"))
FULL = Contender("SQLite WAL, FULL", "power", partial(Sqlite, synchronous="FULL"))
LIBRARY_NORMAL = Contender(
    "eventsourcing, NORMAL set by hand", "process", partial(Recorder, synchronous="NORMAL")
)
LIBRARY = Contender("eventsourcing, as it comes (FULL)", "power", Recorder)
CONTENDERS = (OURS, NORMAL, LIBRARY_NORMAL, FULL, LIBRARY)
"""What promises the same first."""


class Speed(Struct, frozen=True):
    """`per_s` of whatever was counted; times are those of one call, in microseconds."""

    per_s: float
    p50_us: float
    p99_us: float


class Replay(Struct, frozen=True):
    """Events per second over the whole session, decoded; and what the store needs beyond the typed bodies.

    `cold`: nothing of its files is in memory, as when yesterday's call is opened.
    """

    events_per_s: float
    cold_per_s: float
    with_audio_per_s: float
    overhead_bytes: float


def appends(contender: Contender, sessions: int, seconds: float) -> Speed:
    """Closed loop for about so long: one event of every session, then the next of each."""
    names = [f"session-{n}" for n in range(sessions)]
    rounds = [[(name, draft) for name in names] for draft in conversation(64)]
    times: list[float] = []
    with _folder() as folder, closing(contender.make(folder)) as store:
        for name in names:
            store.begin(name)
        clock, seq, spent = time.perf_counter, 0, 0.0
        while spent < seconds:
            began = clock()
            store.append(seq, rounds[seq % len(rounds)])
            took = clock() - began
            times.append(took)
            spent += took
            seq += 1
    return _speed(times, each=sessions)


def replay(contender: Contender, drafts: Sequence[Draft]) -> Replay:
    """A whole session written, closed, and read three times, each by a store that has just been opened."""
    count = len(drafts)
    with _folder() as folder:
        with closing(contender.make(folder)) as store:
            store.begin("session")
            for seq, draft in enumerate(drafts):
                store.append(seq, [("session", draft)])
        held = sum(path.stat().st_size for path in _files(folder))
        _forget(folder)
        cold_s, warm_s = (_reading(contender, folder, _events, count) for _ in range(2))
        audio_s = _reading(contender, folder, _audio, sum(len(draft.blob or b"") for draft in drafts))
    overhead = (held - typed_bytes(list(drafts))) / count
    return Replay(count / warm_s, count / cold_s, count / audio_s, overhead)


def _events(store: Store) -> int:
    return sum(1 for _ in store.events("session"))


def _audio(store: Store) -> int:
    return store.audio("session")


def _reading(contender: Contender, folder: Path, read: Callable[[Store], int], expected: int) -> float:
    """Seconds to read it all with a store that has just been opened."""
    with closing(contender.make(folder)) as store:
        began = time.perf_counter()
        found = read(store)
        took = time.perf_counter() - began
    assert found == expected, "the store did not give back what it was given"
    return took


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _forget(folder: Path) -> None:
    """Have the kernel write everything down and drop it from memory."""
    for path in _files(folder):
        with path.open("rb") as file:
            os.fsync(file)
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def openings(contender: Contender, *, shared: bool) -> Speed:
    """Sessions begun one after the other, each with its first event; `shared`: all of them in one store."""
    (draft,) = conversation(1)
    times: list[float] = []
    with _folder() as folder:
        stores: list[Store] = [contender.make(folder)] if shared else []
        for n in range(OPENED):
            own = folder / str(n)
            own.mkdir()
            began = time.perf_counter()
            if not shared:
                stores.append(contender.make(own))
            stores[-1].begin(f"session-{n}")
            stores[-1].append(0, [(f"session-{n}", draft)])
            times.append(time.perf_counter() - began)
        for store in stores:
            store.close()
    return _speed(times, each=1)


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="antiphon-bench-") as name:
        yield Path(name)


def _speed(times: list[float], *, each: int) -> Speed:
    p50, p99 = quantile(times, 0.5) or 0.0, quantile(times, 0.99) or 0.0
    return Speed(len(times) * each / sum(times), p50 * 1e6, p99 * 1e6)
