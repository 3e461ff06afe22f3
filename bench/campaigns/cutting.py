"""Truncation: the files of a log end at every byte of its last batches in turn."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from antiphon.events.verify import verify

from .outcome import Tally, Violation
from .stores import handle
from .victim import VICTIM, Victim

FULL, SHORT = 10_000, 2_000
LAST = 3
"""Batches from the end that are cut at every byte."""


def run(count: int, seed: int, folder: Path, tally: Tally) -> None:
    """Raises Violation."""
    life = 0
    while tally.tried < count:
        rng = random.Random(f"{seed}/cut/{life}")
        victim = Victim(folder / f"life-{life}", rng)
        for events, blobs in _cuts(victim, rng):
            if tally.tried == count:
                break
            tally.next(f"life {life}, events cut to {events} bytes and payloads to {blobs}")
            _try(victim, events, blobs, tally)
        life += 1
        tally.found["different logs"] += 1


def _cuts(victim: Victim, rng: random.Random) -> Iterator[tuple[int, int]]:
    """Sizes of both files: each cut at every byte, then both at once, each anywhere."""
    (events, blobs), (first_events, first_blobs) = victim.ends[-1], victim.ends[-1 - LAST]
    for size in range(first_events, events):
        yield size, blobs
    for size in range(first_blobs, blobs):
        yield events, size
    for _ in range(200):
        yield rng.randint(victim.ends[0][0], events), rng.randint(victim.ends[0][1], blobs)


def _try(victim: Victim, events_size: int, audio_size: int, tally: Tally) -> None:
    events, blobs = victim.whole
    victim.put(events[:events_size], blobs[:audio_size])
    count = victim.firsts[victim.whole_batches(events_size, audio_size)]
    with handle(victim.root) as reader:
        victim.expect(reader, count)
        if reader.head(VICTIM).next_seq != count:
            raise Violation("lost", f"the head is said to be {reader.head(VICTIM).next_seq}, not {count}")
        if not verify(reader, VICTIM).sound:
            raise Violation("undetected", "an unfinished write is taken for damage")
    with handle(victim.root) as writer:
        victim.go_on(writer, count)
    victim.check_neighbours()
    tally.found["acknowledged events read back"] += count
