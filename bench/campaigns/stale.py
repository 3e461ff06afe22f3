"""Unfinished writes, and behind them what the disk had there before: zeros, noise, frames of other times."""

from __future__ import annotations

import random
from pathlib import Path

from .outcome import Tally
from .stores import handle
from .victim import Victim

FULL, SHORT = 3_000, 600
OWN, OTHERS, BESIDE = "its own older frames", "another log's frames", "the same place of another log"
KINDS = ("zeros", "noise", OWN, OTHERS, BESIDE)
TRIES_A_LIFE = 100


def run(count: int, seed: int, folder: Path, tally: Tally) -> None:
    """Raises Violation."""
    while tally.tried < count:
        life = tally.tried // TRIES_A_LIFE
        rng = random.Random(f"{seed}/stale/{life}")
        victim, other = Victim(folder / f"life-{life}", rng), Victim(folder / f"other-{life}", rng)
        for _ in range(min(TRIES_A_LIFE, count - tally.tried)):
            batches, kind = rng.randrange(1, len(victim.batches)), rng.choice(KINDS)
            torn = rng.randrange(victim.ends[batches][0], victim.ends[batches + 1][0])
            tally.next(f"life {life}, events cut to {torn} bytes, then {kind}")
            content = victim.whole[0][:torn] + _garbage(kind, victim, other, batches, torn, rng)
            whole = content.startswith(victim.whole[0][: victim.ends[batches + 1][0]])  # zeros for a zero
            expected = victim.firsts[batches + whole]
            victim.put(content, victim.whole[1][: victim.ends[batches + 1][1]])
            with handle(victim.root) as reader:
                victim.expect(reader, expected)
            with handle(victim.root) as writer:
                victim.go_on(writer, expected)
            victim.check_neighbours()
            tally.found[kind] += 1


def _garbage(kind: str, victim: Victim, other: Victim, batches: int, torn: int, rng: random.Random) -> bytes:
    if kind == "zeros":
        return bytes(rng.randrange(1, 5000))
    if kind == "noise":
        return rng.randbytes(rng.randrange(1, 5000))
    if kind == OWN:
        n = rng.randrange(batches)
        return victim.whole[0][victim.ends[n][0] : victim.ends[rng.randrange(n, batches) + 1][0]]
    if kind == OTHERS:
        return other.whole[0][rng.choice([0, *(end for end, _ in other.ends)]) :]
    return other.whole[0][torn:]  # what lay at the same place of its own file
