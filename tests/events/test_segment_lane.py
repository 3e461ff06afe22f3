"""Slow writes move to a thread and come back; order and answers stay as they were."""

import errno
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest
import structlog

from antiphon.events.errors import Locked, LogError, OutcomeUnknown, Sealed, StoreFull
from antiphon.events.ids import Seq, SessionId
from antiphon.events.segments.files import Files
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Ack, Expect, Lease
from tests.events.drafts import audio, text
from tests.events.stores import inline

S = SessionId("s")


class Rig:
    """A store whose disk is as slow as the test says, and which may be held up or fail at a write."""

    def __init__(self, root: Path) -> None:
        self.now = 100.0
        self.write_takes = 0.0
        self.threads: list[bool] = []
        """Of each write: was it made by another thread than ours?"""
        self.fail: dict[int, int] = {}
        """Errno by number of the write of frames, from now on."""
        self.gate = threading.Event()
        self.gate.set()
        self._owner = threading.get_ident()
        self.delivered: SimpleQueue[Callable[[], None]] = SimpleQueue()
        files = Files(write=self._write, clock=lambda: self.now)
        self.log = SegmentLog(root, deliver=self.delivered.put, files=files, slow_limit=3)
        self.took: list[float] = []
        self.log.stats.observe = self.took.append
        self.lease, _ = self.log.open(S, expect=Expect.NEW, owner="the test")
        self.threads.clear()
        self.answers: list[Ack | LogError] = []
        self.next = 0

    def _write(self, fd: int, data: bytes | memoryview) -> int:
        elsewhere = threading.get_ident() != self._owner
        if elsewhere:
            assert self.gate.wait(30)
        number = len(self.threads)
        self.threads.append(elsewhere)
        self.now += self.write_takes
        if code := self.fail.get(number):
            raise OSError(code, os.strerror(code))
        return os.write(fd, data)

    def append(self, n: int = 1) -> None:
        for _ in range(n):
            self.log.append(self.lease, Seq(self.next), [text(self.next)]).then(
                lambda done: self.answers.append(done.error or done.result())
            )
            self.next += 1

    def deliver(self) -> None:
        while self.log.stats.backlog:
            self.delivered.get(timeout=30)()

    def move_to_thread(self) -> None:
        self.write_takes = 0.006
        self.append(3)
        self.write_takes = 0.0


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.gate.set()
    rig.deliver()
    rig.log.close()


def test_quick_writes_stay_in_the_callers_thread(rig: Rig) -> None:
    rig.write_takes = 0.004
    rig.append(50)
    assert rig.threads == [False] * 50
    stats = rig.log.stats
    assert (stats.appends, stats.slow_writes, stats.backlog) == (50, 0, 0)
    assert rig.took == pytest.approx([0.004] * 50)


def test_three_slow_writes_within_ten_seconds_move_appends_to_one_thread(rig: Rig) -> None:
    rig.move_to_thread()
    rig.append(20)
    rig.deliver()
    assert rig.threads == [False] * 3 + [True] * 20
    assert [answer.first for answer in rig.answers if isinstance(answer, Ack)] == list(range(23))
    assert rig.log.stats.slow_writes == 3
    assert rig.took[:3] == pytest.approx([0.006] * 3)


def test_slow_writes_far_apart_change_nothing(rig: Rig) -> None:
    for _ in range(5):
        rig.write_takes = 0.006
        rig.append()
        rig.now += 5
        rig.write_takes = 0.0
        rig.append()
    assert not any(rig.threads)
    assert rig.log.stats.slow_writes == 5


def test_appends_come_back_when_the_disk_was_quick_for_ten_seconds_and_nothing_waits(rig: Rig) -> None:
    rig.move_to_thread()
    rig.append()
    rig.deliver()
    rig.now += 9.9
    rig.append()
    rig.now += 0.2
    rig.append()  # one is still out
    rig.deliver()
    rig.append()
    assert rig.threads == [False] * 3 + [True] * 3 + [False]
    assert [answer.first for answer in rig.answers if isinstance(answer, Ack)] == list(range(7))


def test_what_is_queued_is_neither_lost_nor_shown_before_it_is_stored(rig: Rig) -> None:
    rig.move_to_thread()
    rig.gate.clear()
    rig.append(5)
    assert rig.log.stats.backlog == 5
    assert rig.log.head(S).next_seq == 3
    assert [stored.seq for stored in rig.log.read(S)] == [0, 1, 2]
    rig.gate.set()
    rig.log.release(rig.lease)
    assert [stored.seq for stored in rig.log.read(S)] == list(range(8))
    rig.deliver()
    assert len(rig.answers) == 8


def test_a_repeated_append_joins_the_one_that_waits(rig: Rig) -> None:
    rig.move_to_thread()
    rig.gate.clear()
    batch = [audio(3), audio(4)]
    first, again = (rig.log.append(rig.lease, Seq(3), batch) for _ in range(2))
    other = rig.log.append(rig.lease, Seq(3), [audio(5), audio(4)])
    assert other.error is not None
    assert not first.settled
    assert not again.settled
    rig.gate.set()
    rig.deliver()
    assert first.result() == again.result()
    assert rig.log.head(S).next_seq == 5


def test_a_full_disk_fails_all_that_was_queued_behind_it(rig: Rig) -> None:
    rig.move_to_thread()
    rig.gate.clear()
    rig.fail = {4: errno.ENOSPC}
    rig.append(4)
    rig.gate.set()
    rig.deliver()
    assert [type(answer) for answer in rig.answers[3:]] == [Ack, StoreFull, OutcomeUnknown, OutcomeUnknown]
    _assert_dead_until_reopened(rig, stored=4)


def test_a_full_disk_with_nothing_behind_it_costs_one_append(rig: Rig) -> None:
    rig.move_to_thread()
    rig.fail = {3: errno.ENOSPC}
    rig.append()
    rig.deliver()
    assert isinstance(rig.answers[3], StoreFull)
    rig.next -= 1
    rig.append(2)
    rig.deliver()
    assert [stored.seq for stored in rig.log.read(S)] == [0, 1, 2, 3, 4]


def test_a_broken_disk_ends_the_lease_and_everything_queued(rig: Rig) -> None:
    rig.move_to_thread()
    rig.gate.clear()
    rig.fail = {4: errno.EIO}
    rig.append(4)
    rig.gate.set()
    rig.deliver()
    assert [type(answer) for answer in rig.answers[3:]] == [Ack] + [OutcomeUnknown] * 3
    _assert_dead_until_reopened(rig, stored=4)


def _assert_dead_until_reopened(rig: Rig, *, stored: int) -> None:
    dead: Lease = rig.lease
    assert isinstance(rig.log.append(dead, Seq(stored), [text(0)]).error, OutcomeUnknown)
    rig.lease, head = rig.log.open(S, expect=Expect.RESUME, owner="the test")
    assert head.next_seq == stored
    rig.next = stored
    rig.append()
    rig.deliver()
    assert [event.seq for event in rig.log.read(S)] == list(range(stored + 1))


def test_closing_writes_what_is_queued(rig: Rig, tmp_path: Path) -> None:
    rig.move_to_thread()
    rig.append(10)
    rig.log.close()
    rig.deliver()
    assert len(rig.answers) == 13
    assert [stored.seq for stored in rig.log.read(S)] == list(range(13))


def test_a_disk_that_blocks_for_200_ms_shows_other_sessions_late_and_never_out_of_order(rig: Rig) -> None:
    leases = [rig.log.open(SessionId(f"s{n}"), expect=Expect.NEW, owner="the test")[0] for n in range(5)]
    rig.write_takes = 0.2
    rig.append()  # from here on nobody waits for the disk
    rig.gate.clear()
    given: list[tuple[str, int]] = []
    for seq in range(10):
        for lease in leases:
            rig.log.append(lease, Seq(seq), [audio(seq)]).then(
                lambda done, lease=lease: given.append((lease.session, done.result().first))  # type: ignore[misc]
            )
    assert given == []
    assert rig.log.stats.backlog == 50
    rig.gate.set()
    rig.deliver()
    assert given == [(lease.session, seq) for seq in range(10) for lease in leases]
    for lease in leases:
        assert [stored.seq for stored in rig.log.read(lease.session)] == list(range(10))


def test_neither_a_seal_nor_a_release_waits_for_a_disk_that_stands_still(rig: Rig, tmp_path: Path) -> None:
    ended, left = (
        rig.log.open(SessionId(name), expect=Expect.NEW, owner="the test")[0] for name in ("ended", "left")
    )
    rig.log.append(ended, Seq(0), [audio(0)]).result()
    rig.move_to_thread()
    rig.gate.clear()
    rig.append()
    rig.log.seal(ended, "the end")
    rig.log.release(left)
    inline(tmp_path).open(left.session, expect=Expect.RESUME, owner="another")
    with pytest.raises(Locked):
        inline(tmp_path).open(ended.session, expect=Expect.RESUME, owner="another")
    rig.gate.set()
    assert rig.log.head(ended.session).sealed  # who asks here waits
    assert isinstance(rig.log.append(ended, Seq(1), [text(1)]).error, Sealed)
    assert rig.log.open(ended.session, expect=Expect.NEW, owner="the test")[0].incarnation == 1
    rig.log.seal(ended, "again")
    rig.deliver()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_seal_that_fails_after_all_leaves_the_log_for_the_next_opener(rig: Rig, code: int) -> None:
    lease, _ = rig.log.open(SessionId("ended"), expect=Expect.NEW, owner="the test")
    rig.log.append(lease, Seq(0), [audio(0)]).result()
    rig.move_to_thread()
    rig.fail = {len(rig.threads): code}
    with structlog.testing.capture_logs() as said:
        rig.log.seal(lease, "the end")
        rig.deliver()
    assert [entry["event"] for entry in said] == ["segments.not_sealed"]
    rig.fail = {}
    again, head = rig.log.open(lease.session, expect=Expect.RESUME, owner="the test")
    assert (head.next_seq, head.sealed) == (1, False)
    rig.log.seal(again, "the end")
    rig.deliver()
    assert rig.log.head(lease.session).sealed


def test_closing_writes_a_seal_that_is_queued(rig: Rig, tmp_path: Path) -> None:
    rig.move_to_thread()
    rig.gate.clear()
    rig.append()
    rig.log.seal(rig.lease, "the end")
    rig.gate.set()
    rig.log.close()
    rig.deliver()
    assert inline(tmp_path).head(S).sealed


def test_one_batch_is_one_write_of_frames_after_one_of_blobs(rig: Rig) -> None:
    rig.log.append(rig.lease, Seq(0), [audio(0), text(1), audio(2)]).result()
    assert len(rig.threads) == 2
