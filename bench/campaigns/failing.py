"""Disks that fail: full, over quota, broken or short of breath in a batch, unable to sync in an erasure."""

from __future__ import annotations

import contextlib
import errno
import itertools
import random
from collections.abc import Iterator
from pathlib import Path

from antiphon.events.conformance.disk import UnluckyDisk
from antiphon.events.conformance.drafts import text
from antiphon.events.errors import LogError, OutcomeUnknown, StoreFull
from antiphon.events.ids import Seq, SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect, Lease, Scope
from antiphon.events.verify import verify

from .outcome import Tally, Violation
from .stores import handle
from .victim import VICTIM, Victim

FAILED_SYNC = "failed fsync"
FULL, SHORT = 3_000, 600
KINDS = ("disk full", "over quota", "EIO", "full and cannot be tidied", "short writes", FAILED_SYNC)
TRIES_A_LIFE = 60
_bystanders = itertools.count()


def run(count: int, seed: int, folder: Path, tally: Tally) -> None:
    """Raises Violation."""
    while tally.tried < count:
        life = tally.tried // TRIES_A_LIFE
        rng = random.Random(f"{seed}/fail/{life}")
        victim = Victim(folder / f"life-{life}", rng)
        for _ in range(min(TRIES_A_LIFE, count - tally.tried)):
            kind, batch = rng.choice(KINDS), rng.randrange(1, len(victim.batches))
            size = sum(after - before for before, after in zip(*victim.ends[batch : batch + 2], strict=True))
            room = rng.randrange(size)
            tally.next(f"life {life}, {kind} after {room} bytes of batch {batch}")
            if kind == FAILED_SYNC:
                _erase_without_sync(victim)
            else:
                Attempt(victim, kind, batch, room).run(rng)
            victim.check_neighbours()
            tally.found[kind] += 1


class Attempt:
    """One batch on a disk that fails, and what is there afterwards."""

    def __init__(self, victim: Victim, kind: str, batch: int, room: int) -> None:
        self.victim, self.kind, self.batch, self.room = victim, kind, batch, room
        self.first, self.drafts = victim.firsts[batch], victim.batches[batch]
        self.stored = False

    def run(self, rng: random.Random) -> None:
        victim, disk = self.victim, UnluckyDisk()
        victim.put_batches(self.batch)
        with handle(victim.root, disk) as log, self._bystander(log):
            lease, _ = log.open(VICTIM, expect=Expect.RESUME, owner="the campaign")
            self._break(disk, rng)
            error = log.append(lease, Seq(self.first), self.drafts).error
            disk.heal()
            self._after(log, lease, error)
        with handle(victim.root) as writer:
            victim.go_on(writer, victim.firsts[self.batch + self.stored])

    def _break(self, disk: UnluckyDisk, rng: random.Random) -> None:
        code = {"over quota": errno.EDQUOT, "EIO": errno.EIO}.get(self.kind, errno.ENOSPC)
        if self.kind == "short writes":
            disk.dribble(rng.randrange(1, 40))
        else:
            disk.fill(self.room, code, self._look_meanwhile)
        if self.kind == "full and cannot be tidied":
            disk.break_("truncate", errno.EIO)

    def _look_meanwhile(self) -> None:
        """Another reader sees nothing of what is being written."""
        with handle(self.victim.root) as reader:
            self.victim.expect(reader, self.first)

    def _after(self, log: SegmentLog, lease: Lease, error: LogError | None) -> None:
        """The answer was the right one, and the lease is what that answer says it is."""
        allowed: dict[str, type[LogError] | None] = {
            "disk full": StoreFull,
            "over quota": StoreFull,
            "short writes": None,
        }
        wanted = allowed.get(self.kind, OutcomeUnknown)
        if type(error) is not (wanted or type(None)):
            raise Violation("undetected", f"the answer was {error!r}")
        again = log.append(lease, Seq(self.first), self.drafts).error
        if isinstance(error, OutcomeUnknown) != isinstance(again, OutcomeUnknown):
            raise Violation("undetected", f"asked again, the answer was {again!r}")
        self.stored = again is None
        log.release(lease)

    @contextlib.contextmanager
    def _bystander(self, log: SegmentLog) -> Iterator[None]:
        """Another session of the same process, which goes on whatever happens."""
        bystander = SessionId(f"bystander-{next(_bystanders)}")
        lease, _ = log.open(bystander, expect=Expect.NEW, owner="the campaign")
        log.append(lease, Seq(0), [text(0)]).result()
        yield
        error = log.append(lease, Seq(1), [text(1)]).error
        if error is not None or [stored.seq for stored in log.read(bystander)] != [0, 1]:
            raise Violation("disturbed", f"another session could not go on: {error!r}")


def _erase_without_sync(victim: Victim) -> None:
    """An erasure that cannot be made durable is not said to be done; the log is readable or erased."""
    victim.put_batches(len(victim.batches))
    disk = UnluckyDisk()
    disk.break_("sync", errno.EIO)
    with handle(victim.root, disk) as log:
        try:
            log.erase(VICTIM, Scope.AUDIO)
        except (LogError, OSError):
            pass
        else:
            raise Violation("undetected", "an erasure whose fsync failed was said to be done")
    with handle(victim.root) as log:
        if log.head(VICTIM).erased:
            shown = [stored.event for stored in log.read(VICTIM)]
            if shown != [draft.event for draft in victim.drafts]:
                raise Violation("lost", "an erasure of audio took events away")
        else:
            victim.expect(log, len(victim.drafts))
        log.erase(VICTIM, Scope.AUDIO)
        if not log.head(VICTIM).erased or not verify(log, VICTIM).sound:
            raise Violation("undetected", "erased at the second try, and yet not")
