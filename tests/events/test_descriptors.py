"""However many sessions are open, few blob files are; and no write ever goes to another's."""

import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest

from antiphon.events.errors import OutcomeUnknown
from antiphon.events.ids import Seq, SessionId
from antiphon.events.segments.descriptors import LIMIT, raise_descriptor_limit
from antiphon.events.segments.files import Files
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect, Lease
from tests.events.drafts import audio, payload, text
from tests.events.stores import inline

ROOT = Path(__file__).parents[2]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SegmentLog]:
    log = inline(tmp_path)
    yield log
    log.close()


def open_names(root: Path) -> list[str]:
    """What this process has open of the store, by the last parts of its path."""
    names = []
    for entry in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink(f"/proc/self/fd/{entry}")
        except FileNotFoundError:  # that of the listing itself
            continue
        if path.startswith(str(root)):
            names.append("/".join(path.split("/")[-3:]))
    return names


def blobs_open(root: Path) -> list[str]:
    return [name for name in open_names(root) if name.endswith("/audio.blob")]


def begin(log: SegmentLog, n: int) -> Lease:
    return log.open(SessionId(f"s{n}"), expect=Expect.NEW, owner="the test")[0]


def say(log: SegmentLog, lease: Lease, seq: int, n: int) -> None:
    log.append(lease, Seq(seq), [audio(n)]).result()


def assert_said(log: SegmentLog, lease: Lease, said: list[int]) -> None:
    found = list(log.read(lease.session))
    assert [stored.at.mono_ns for stored in found] == said
    for stored in found:
        assert stored.blob is not None
        assert log.read_blob(lease.session, stored.blob) == payload(stored.at.mono_ns, 64)


def test_a_thousand_open_sessions_cost_one_descriptor_each_and_at_most_256_more(
    log: SegmentLog, tmp_path: Path
) -> None:
    raise_descriptor_limit()
    leases = [begin(log, n) for n in range(1000)]
    for k in range(10):
        for n, lease in enumerate(leases):
            say(log, lease, k, 10 * n + k)
        assert len(blobs_open(tmp_path)) <= LIMIT
    assert sorted(set(open_names(tmp_path)) - set(blobs_open(tmp_path))) == sorted(
        f"s{n}/0/events.log" for n in range(1000)
    )
    for n, lease in enumerate(leases):
        assert_said(log, lease, list(range(10 * n, 10 * n + 10)))
        assert log.head(lease.session).next_seq == 10
    assert len(blobs_open(tmp_path)) <= LIMIT


@pytest.mark.parametrize("sessions", [500, 1000])
def test_of_sessions_that_speak_in_turn_as_many_find_their_file_open_as_there_is_room_for(
    log: SegmentLog, tmp_path: Path, sessions: int
) -> None:
    leases = [begin(log, n) for n in range(sessions)]
    before = set(blobs_open(tmp_path))
    for k in range(4):
        for n, lease in enumerate(leases):
            say(log, lease, k, n)
    assert set(blobs_open(tmp_path)) == before
    assert len(before) == LIMIT - 2


def test_who_has_fallen_silent_makes_room_for_who_speaks_and_nobody_else_does(
    log: SegmentLog, tmp_path: Path
) -> None:
    leases = [begin(log, n) for n in range(300)]
    assert {"s0/0/audio.blob", "s9/0/audio.blob"} <= set(blobs_open(tmp_path))
    assert "s299/0/audio.blob" not in blobs_open(tmp_path)
    speakers = [0, *range(260, 300)]
    for k in range(60):
        for n in speakers:
            say(log, leases[n], k, n)
        assert "s0/0/audio.blob" in blobs_open(tmp_path)
    names = blobs_open(tmp_path)
    assert {f"s{n}/0/audio.blob" for n in speakers} <= set(names)
    assert "s9/0/audio.blob" not in names
    assert len(names) <= LIMIT


def silence(log: SegmentLog, tmp_path: Path, lease: Lease) -> list[Lease]:
    """Have others speak until the session's blob file is closed."""
    others, rounds = [begin(log, n) for n in range(1, 300)], itertools.count()
    while f"{lease.session}/0/audio.blob" in blobs_open(tmp_path):
        k = next(rounds)
        for n, other in enumerate(others):
            say(log, other, k, n)
    return others


def test_a_session_goes_on_after_its_file_made_room(log: SegmentLog, tmp_path: Path) -> None:
    first = begin(log, 0)
    say(log, first, 0, 7)
    others = silence(log, tmp_path, first)
    (ref,) = log.append(first, Seq(0), [audio(7)]).result().blobs  # repeated: it is known
    assert ref is not None
    assert log.read_blob(first.session, ref) == payload(7, 64)
    say(log, first, 1, 8)
    assert_said(log, first, [7, 8])
    log.seal(first, "the end")
    assert log.head(first.session).sealed
    for lease in others:
        log.release(lease)
    assert open_names(tmp_path) == []


def test_events_without_audio_need_no_blob_file(log: SegmentLog, tmp_path: Path) -> None:
    lease = begin(log, 0)
    silence(log, tmp_path, lease)
    (path,) = tmp_path.glob("sessions/*/s0/0/audio.blob")
    path.unlink()
    for k in range(10):
        log.append(lease, Seq(k), [text(k)]).result()
    assert "s0/0/audio.blob" not in blobs_open(tmp_path)
    log.seal(lease, "the end")
    assert [stored.at.mono_ns for stored in log.read(lease.session)] == list(range(10))


@pytest.mark.parametrize("replaced", [False, True], ids=["gone", "replaced"])
def test_a_file_that_is_not_the_same_any_more_is_not_written_to(
    log: SegmentLog, tmp_path: Path, replaced: bool
) -> None:
    lease = begin(log, 0)
    say(log, lease, 0, 0)
    silence(log, tmp_path, lease)
    (path,) = tmp_path.glob("sessions/*/s0/0/audio.blob")
    path.rename(path.with_suffix(".moved"))
    if replaced:
        path.write_bytes(path.with_suffix(".moved").read_bytes())
    before = path.read_bytes() if replaced else None
    for _ in range(2):
        assert isinstance(log.append(lease, Seq(1), [audio(1)]).error, OutcomeUnknown)
    assert (path.read_bytes() if path.exists() else None) == before


def test_no_descriptor_is_closed_while_the_writer_thread_may_use_it(tmp_path: Path) -> None:
    """More sessions have writes queued than may have files open; each write lands in its own.

    Those without a place ask so often that the hand goes round twice.
    """
    stuck = Stuck(tmp_path)
    leases = [begin(stuck.log, n) for n in range(300)]
    crowd = [*range(300), *list(range(260, 300)) * 60]
    said: list[list[int]] = [[] for _ in leases]
    for _ in range(2):
        answers = []
        stuck.gate.clear()
        before = set(blobs_open(tmp_path)) - {"s0/0/audio.blob"}  # the very first write needs no thread
        for n in crowd:
            k = len(said[n])
            answers.append(stuck.log.append(leases[n], Seq(k), [audio(1000 * k + n)]))
            said[n].append(1000 * k + n)
        assert before <= set(blobs_open(tmp_path))
        assert len(blobs_open(tmp_path)) <= LIMIT
        stuck.gate.set()
        stuck.settle()
        assert [answer.error for answer in answers] == [None] * len(crowd)
    for lease, numbers in zip(leases, said, strict=True):
        assert_said(stuck.log, lease, numbers)
    stuck.log.close()


class Stuck:
    """A store whose writer thread stands still within a write while the gate is closed."""

    def __init__(self, root: Path) -> None:
        self.gate = threading.Event()
        self.gate.set()
        seconds = itertools.count()
        self._delivered: SimpleQueue[Callable[[], None]] = SimpleQueue()
        files = Files(write=self._write, clock=lambda: next(seconds) * 0.01)
        self.log = SegmentLog(root, deliver=self._delivered.put, files=files, slow_limit=1)

    def settle(self) -> None:
        while self.log.stats.backlog:
            self._delivered.get(timeout=30)()

    def _write(self, fd: int, data: bytes | memoryview) -> int:
        if threading.current_thread() is not threading.main_thread():
            assert self.gate.wait(30)
        return os.write(fd, data)


def run(script: str, *arguments: object) -> str:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=60).stdout.decode()


def test_a_forked_child_keeps_none_of_its_parents_files(tmp_path: Path) -> None:
    script = """
import os, sys
from pathlib import Path
from queue import SimpleQueue
from tests.events.stores import inline
from tests.events.test_descriptors import begin, open_names, say
root = Path(sys.argv[1])
log = inline(root)
leases = [begin(log, n) for n in range(200)]
before = len(open_names(root))
child = os.fork()
if child == 0:
    print("child", len(open_names(root)), flush=True)
    os._exit(0)
os.waitpid(child, 0)
assert len(open_names(root)) == before
for n, lease in enumerate(leases):
    say(log, lease, 0, n)
print("parent", before)
"""
    assert run(script, tmp_path).split() == ["child", "0", "parent", "400"]


def test_the_limit_is_raised_to_what_the_system_allows() -> None:
    script = """
import resource
from antiphon.events.segments.descriptors import raise_descriptor_limit
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
print(raise_descriptor_limit() == (200, hard), resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard))
"""
    assert run(script).split() == ["True", "True"]
