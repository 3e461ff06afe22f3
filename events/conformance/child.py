"""Another process that uses the store: `child.py N MODULE:FUNCTION ARGUMENT... ROLE ARGUMENT...`.

N counts the words that say how to open the store. The child says on stdout what has become true, line by
line; nothing here waits for time to pass.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import random
import signal
import sys
from collections.abc import Callable

from ..envelope import Stored
from ..errors import Locked
from ..ids import SessionId
from ..store import CaughtUp, Expect, Head, Lease
from .drafts import audio, opened, text
from .under_test import StoreUnderTest


def say(*words: object) -> None:
    """One write, so that a line is said whole or not at all."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def take(store: StoreUnderTest, session: str) -> tuple[Lease, Head]:
    """Open it as soon as whoever holds it lets go."""
    while True:
        try:
            return store.log.open(SessionId(session), expect=Expect.RESUME, owner=f"child {os.getpid()}")
        except Locked:
            os.sched_yield()


def race(store: StoreUnderTest, session: str, rounds: str) -> None:
    """Get `rounds` events in, each with an opening of its own."""
    for n in range(int(rounds)):
        stored = False
        while not stored:
            lease, head = take(store, session)
            stored = store.ask(lease, head.next_seq, [text(n, f"{os.getpid()} {n}")]).error is None
            store.log.release(lease)


def begin(store: StoreUnderTest, *sessions: str) -> None:
    """Try to be the one who begins each session, and hold on to what was begun."""
    for session in sessions:
        try:
            store.log.open(SessionId(session), expect=Expect.NEW, owner="a child")
            say(session)
        except Locked:
            continue
    say("that is all")
    sys.stdin.read()


def write(store: StoreUnderTest, session: str, batches: str, end: str) -> None:
    """Append batches of 1 to 7 events, then `seal`, `release`, or `die`."""
    lease, head = take(store, session)
    seq = store.append(lease, head.next_seq, [opened(lease.writer_epoch, head.next_seq)]).last + 1
    for n in range(int(batches)):
        drafts = [audio(seq + k) if k % 2 else text(seq + k) for k in range(n % 7 + 1)]
        seq = store.append(lease, seq, drafts).last + 1
    say(seq)
    if end == "seal":
        store.log.seal(lease, "the end")
    elif end == "release":
        store.log.release(lease)
    else:
        os.kill(os.getpid(), signal.SIGKILL)


def storm(store: StoreUnderTest, seed: str, *sessions: str) -> None:
    """Append random batches to the sessions until killed; say each Ack."""
    rng = random.Random(int(seed))
    writers: list[tuple[Lease, int]] = []
    for session in sessions:
        lease, head = take(store, session)
        last = store.append(lease, head.next_seq, [opened(lease.writer_epoch, head.next_seq)]).last
        writers.append((lease, last + 1))
    while True:
        n = rng.randrange(len(writers))
        lease, seq = writers[n]
        size = rng.randrange(1, 17)
        drafts = [
            text(seq + k, f"{k}/{size}") if rng.random() < 0.5 else audio(seq + k, 3840) for k in range(size)
        ]
        ack = store.append(lease, seq, drafts)
        say(lease.session, ack.first, ack.last)
        writers[n] = (lease, ack.last + 1)


def follow(store: StoreUnderTest, session: str) -> None:
    """Say every seq, and when we have caught up; end at the seal."""

    async def following() -> None:
        async for item in store.log.follow(SessionId(session)):
            if isinstance(item, Stored):
                say(item.seq)
            else:
                say("caught up" if isinstance(item, CaughtUp) else "sealed")

    asyncio.run(following())


ROLES: dict[str, Callable[..., None]] = {
    "race": race,
    "begin": begin,
    "write": write,
    "storm": storm,
    "follow": follow,
}


def main(arguments: list[str]) -> None:
    count = int(arguments[0])
    (opener, *how), (role, *rest) = arguments[1 : count + 1], arguments[count + 1 :]
    module, _, function = opener.partition(":")
    store = getattr(importlib.import_module(module), function)(*how)
    ROLES[role](store, *rest)
    store.log.close()


if __name__ == "__main__":
    main(sys.argv[1:])
