"""Another process that uses the store. Run as a program: child.py <role> <store> <arguments…>.

It says on stdout what has become true, line by line; nothing here waits for time to pass.
"""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from antiphon.events.errors import Locked
from antiphon.events.ids import Seq, SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect, Head, Lease
from tests.events.drafts import audio, opened, text
from tests.events.stores import inline


def say(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def take(log: SegmentLog, session: str) -> tuple[Lease, Head]:
    """Open it as soon as whoever holds it lets go."""
    while True:
        try:
            return log.open(SessionId(session), expect=Expect.RESUME, owner=f"child {os.getpid()}")
        except Locked:
            os.sched_yield()


def race(log: SegmentLog, session: str, rounds: str) -> None:
    """Append one event in each of `rounds` openings."""
    for n in range(int(rounds)):
        lease, head = take(log, session)
        log.append(lease, head.next_seq, [text(n, f"{os.getpid()} {n}")]).result()
        log.release(lease)


def begin(log: SegmentLog, *sessions: str) -> None:
    """Try to be the one who begins each session."""
    for session in sessions:
        try:
            log.open(SessionId(session), expect=Expect.NEW, owner="a child")
            say(session)
        except Locked:
            continue
    say("that is all")
    sys.stdin.read()


def hold(log: SegmentLog, session: str, with_child: str) -> None:
    """Hold a session until killed, with a child of our own that lives on until stdin ends."""
    lease, _ = log.open(SessionId(session), expect=Expect.NEW, owner="the holder")
    if with_child == "forked":
        child = os.fork()
        if child == 0:
            error = log.append(lease, Seq(0), [text(0)]).error
            say("child may not write" if error is not None else "child wrote")
            sys.stdin.read()
            os._exit(0)
    else:
        child = subprocess.Popen(["sh", "-c", "echo child may not write; exec cat"], close_fds=False).pid
    log.append(lease, Seq(0), [text(0)]).result()
    say(child)
    signal.pause()


def write(log: SegmentLog, session: str, batches: str, end: str) -> None:
    """Append batches of 1 to 7 events, then seal, release, or die."""
    lease, head = take(log, session)
    log.append(lease, head.next_seq, [opened(lease.writer_epoch)]).result()
    seq = head.next_seq + 1
    for n in range(int(batches)):
        drafts = [audio(seq + k) if k % 2 else text(seq + k) for k in range(n % 7 + 1)]
        seq = log.append(lease, Seq(seq), drafts).result().last + 1
    say(seq)
    if end == "seal":
        log.seal(lease, "the end")
    elif end == "release":
        log.release(lease)
    else:
        os.kill(os.getpid(), signal.SIGKILL)


def storm(log: SegmentLog, seed: str, sessions: str) -> None:
    """Append random batches to several sessions until killed; say each Ack."""
    rng = random.Random(int(seed))
    writers: list[tuple[Lease, int]] = []
    for n in range(int(sessions)):
        lease, head = log.open(SessionId(f"s{n}"), expect=Expect.RESUME, owner="the storm")
        log.append(lease, head.next_seq, [opened(lease.writer_epoch)]).result()
        writers.append((lease, head.next_seq + 1))
    while True:
        n = rng.randrange(len(writers))
        lease, seq = writers[n]
        size = rng.randrange(1, 17)
        drafts = [
            text(seq + k, f"{k}/{size}") if rng.random() < 0.5 else audio(seq + k, 3840) for k in range(size)
        ]
        ack = log.append(lease, Seq(seq), drafts).result()
        say(lease.session, ack.first, ack.last)
        writers[n] = (lease, ack.last + 1)


ROLES: dict[str, Callable[..., None]] = {
    "race": race,
    "begin": begin,
    "hold": hold,
    "write": write,
    "storm": storm,
}

if __name__ == "__main__":
    _, role, root, *arguments = sys.argv
    ROLES[role](inline(Path(root)), *arguments)
