"""Several processes share one store; any of them may be killed at any moment."""

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from antiphon.events.envelope import Stored
from antiphon.events.errors import Fenced, Locked
from antiphon.events.ids import Seq, SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import CaughtUp, Expect, Lease, SealedMark
from antiphon.events.vocabulary import AudioSpoken, TextSpoken, WriterOpened
from tests.events.drafts import payload, text
from tests.events.stores import inline

S = SessionId("s")
ROOT = Path(__file__).parents[2]


class Children:
    """Processes of one test; those that still live at its end are killed, by pid."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, role: str, *arguments: object) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.events.child", role, str(self.store), *map(str, arguments)]
        child = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.started.append(child)
        return child

    def end(self) -> None:
        for child in self.started:
            if child.poll() is None:
                child.kill()
            child.communicate()


@pytest.fixture
def children(tmp_path: Path) -> Iterator[Children]:
    children = Children(tmp_path)
    yield children
    children.end()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SegmentLog]:
    log = inline(tmp_path)
    yield log
    log.close()


def line(child: subprocess.Popen[bytes]) -> str:
    assert child.stdout is not None
    said = child.stdout.readline().decode().rstrip("\n")
    assert said, "the child ended"
    return said


def begin(log: SegmentLog, session: SessionId = S) -> Lease:
    lease, _ = log.open(session, expect=Expect.NEW, owner="the test")
    log.append(lease, Seq(0), [text(0)]).result()
    log.release(lease)
    return lease


def test_of_two_writers_racing_a_thousand_times_one_wins_each_place(
    children: Children, log: SegmentLog
) -> None:
    begin(log)
    pair = [children.start("race", S, 500) for _ in range(2)]
    assert [child.wait(60) for child in pair] == [0, 0]
    events = list(log.read(S))[1:]
    assert [event.seq for event in events] == list(range(1, 1001))
    said: dict[str, list[int]] = {}
    for stored in events:
        assert isinstance(stored.event, TextSpoken)
        pid, n = stored.event.text.split()
        said.setdefault(pid, []).append(int(n))
    assert list(said.values()) == [list(range(500))] * 2
    assert log.head(S).writer_epoch == 1001


def test_of_two_that_begin_a_session_one_does(children: Children) -> None:
    names = [f"new{n}" for n in range(60)]
    pair = [children.start("begin", *names) for _ in range(2)]
    begun = [name for child in pair for name in iter(partial(line, child), "that is all")]
    assert sorted(begun) == sorted(names)


@pytest.mark.parametrize("kind", ["forked", "executed"])
def test_children_of_a_killed_writer_do_not_hold_its_lock(
    children: Children, log: SegmentLog, kind: str
) -> None:
    holder = children.start("hold", S, kind)
    said = {line(holder), line(holder)}
    assert "child may not write" in said
    (grandchild,) = (int(word) for word in said if word.isdigit())
    with pytest.raises(Locked, match=f"the holder .pid {holder.pid}."):
        log.open(S, expect=Expect.RESUME, owner="the test")
    assert log.holder(S) == holder.pid
    holder.kill()
    holder.wait()
    assert log.holder(S) is None
    os.kill(grandchild, 0)  # it lives on
    lease, head = log.open(S, expect=Expect.RESUME, owner="the test")
    assert head.next_seq == 1
    log.append(lease, Seq(1), [text(1)]).result()


def test_a_released_writer_is_fenced_by_the_process_that_took_over(
    children: Children, log: SegmentLog
) -> None:
    lease = begin(log)
    writer = children.start("write", S, 3, "release")
    end = int(line(writer))
    writer.wait()
    error = log.append(lease, Seq(end), [text(0)]).error
    assert isinstance(error, Fenced)
    assert error.current == lease.writer_epoch + 1
    assert log.head(S).next_seq == end


async def test_follow_sees_other_processes_write_die_take_over_and_seal(
    children: Children, log: SegmentLog
) -> None:
    begin(log)
    seqs: list[int] = []
    caught_up = 0
    ends = iter(["die", "release", "seal"])
    async with asyncio.timeout(30):
        async for item in log.follow(S):
            if isinstance(item, Stored):
                seqs.append(int(item.seq))
                if isinstance(item.event, WriterOpened) and (end := next(ends, None)):
                    children.start("write", S, 150, end)
            elif isinstance(item, CaughtUp):
                caught_up += 1
                children.start("write", S, 150, next(ends))
            else:
                assert item == SealedMark(Seq(len(seqs)))
    assert seqs == list(range(log.head(S).next_seq))
    assert len(seqs) > 3 * 150
    assert caught_up == 1


def assert_intact(log: SegmentLog, session: SessionId) -> int:
    """Every stored event is what its writer meant, every batch is whole; the next seq."""
    left_of_batch = 0
    expected = 0
    for stored in log.read(session):
        assert stored.seq == expected
        expected += 1
        event = stored.event
        if isinstance(event, TextSpoken) and "/" in event.text:
            place, size = map(int, event.text.split("/"))
            left_of_batch = size - place - 1
        elif isinstance(event, AudioSpoken):
            assert stored.blob is not None
            assert log.read_blob(session, stored.blob) == payload(stored.seq, 3840)
            left_of_batch = max(0, left_of_batch - 1)
        else:
            assert left_of_batch == 0, "a new writer in the middle of a batch"
    assert left_of_batch == 0
    return expected


@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.campaign)], ids=["a few", "many"])
def test_no_acknowledged_event_is_lost_when_the_writer_is_killed(
    children: Children, log: SegmentLog, kills: int
) -> None:
    sessions = [SessionId(f"s{n}") for n in range(8)]
    for session in sessions:
        begin(log, session)
    rng = random.Random(5)
    for kill in range(kills):
        storm = children.start("storm", kill, len(sessions))
        for _ in range(rng.randrange(1, 200)):
            line(storm)
        storm.kill()
        assert storm.stdout is not None
        said = storm.stdout.read()  # communicate() would pass over what line() has already buffered
        storm.wait()
        acked = dict.fromkeys(sessions, 0)
        for answer in said.decode().split("\n")[:-1]:
            name, _, last = answer.split(" ")
            acked[SessionId(name)] = int(last)
        for session in sessions:
            assert assert_intact(log, session) > acked[session]
            assert log.head(session).next_seq > acked[session]


def test_an_epoch_is_never_used_again_after_a_kill(children: Children, log: SegmentLog) -> None:
    begin(log)
    epochs = []
    for _ in range(3):
        writer = children.start("write", S, 2, "die")
        writer.wait()
        lease, _ = log.open(S, expect=Expect.RESUME, owner="the test")
        epochs.append(lease.writer_epoch)
        log.release(lease)
    recorded = [stored.event.writer_epoch for stored in log.read(S) if isinstance(stored.event, WriterOpened)]
    together = sorted(epochs + recorded)
    assert together == sorted(set(together))
