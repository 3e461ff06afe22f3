"""What a log on files does with torn ends, damage, and disks that fail at any byte."""

import errno
import os
import random
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from antiphon.events.envelope import Draft
from antiphon.events.errors import Corrupt, OutcomeUnknown, Sealed, StoreFull
from antiphon.events.ids import Seq, SessionId
from antiphon.events.segments.files import Files
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect, Lease
from tests.events.drafts import as_stored, audio, opened, text
from tests.events.stores import inline

S = SessionId("s")
BATCHES: list[list[Draft]] = [
    [opened(1)],
    [text(1), audio(2), text(3)],
    [audio(4)],
    [text(5)],
    [audio(6, 30), audio(7, 20), text(8)],
    [audio(9, 40), text(10)],
]
DRAFTS = [draft for batch in BATCHES for draft in batch]
FIRSTS = [sum(len(batch) for batch in BATCHES[:n]) for n in range(len(BATCHES) + 1)]


class Disk:
    """A store directory that is opened, damaged and opened again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.logs: list[SegmentLog] = []
        self.ends = [(self.events.stat().st_size, self.audio.stat().st_size) for _ in self._fill()]
        self.whole = (self.events.read_bytes(), self.audio.read_bytes())

    @property
    def _life(self) -> Path:
        (life,) = self.root.glob("sessions/*/s/0")
        return life

    @property
    def events(self) -> Path:
        return self._life / "events.log"

    @property
    def audio(self) -> Path:
        return self._life / "audio.blob"

    def open(self, files: Files = Files()) -> tuple[SegmentLog, Lease, int]:
        log = inline(self.root, files)
        self.logs.append(log)
        lease, head = log.open(S, expect=Expect.RESUME, owner="the test")
        return log, lease, head.next_seq

    def put(self, events: bytes, blobs: bytes) -> None:
        self.events.write_bytes(events)
        self.audio.write_bytes(blobs)

    def close(self) -> None:
        for log in self.logs:
            log.close()
        self.logs.clear()

    def read(self) -> list[int]:
        """Without a lock: the seqs there are, each checked."""
        log = inline(self.root)
        return check(log)

    def _fill(self) -> Iterator[None]:
        log = inline(self.root)
        lease, _ = log.open(S, expect=Expect.NEW, owner="the test")
        yield
        for first, batch in zip(FIRSTS, BATCHES, strict=False):
            log.append(lease, Seq(first), batch).result()
            yield
        log.close()


def check(log: SegmentLog) -> list[int]:
    seqs = []
    for draft, stored in zip(DRAFTS, log.read(S), strict=False):
        assert as_stored(draft, stored)
        if stored.blob is not None:
            assert log.read_blob(S, stored.blob) == draft.blob
        seqs.append(int(stored.seq))
    assert seqs == list(range(len(seqs)))
    assert log.head(S).next_seq == len(seqs)
    return seqs


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path / "store")
    yield disk
    disk.close()


def whole_batches(disk: Disk, events_size: int, audio_size: int) -> int:
    """How many events a log has whose files were cut to these sizes."""
    return max(FIRSTS[n] for n, (e, a) in enumerate(disk.ends) if e <= events_size and a <= audio_size)


def assert_recovers(disk: Disk, expected: int) -> None:
    """Read as it is, open, go on where the log ends, and find all of it."""
    assert len(disk.read()) == expected
    log, lease, next_seq = disk.open()
    assert next_seq == expected
    rest = DRAFTS[expected:] or [text(len(DRAFTS))]
    log.append(lease, Seq(expected), rest).result()
    assert [stored.seq for stored in log.read(S)] == list(range(expected + len(rest)))
    check(log) if expected < len(DRAFTS) else None
    disk.close()


def test_a_log_cut_at_any_byte_of_its_last_batches_ends_at_a_whole_batch(disk: Disk) -> None:
    events, blobs = disk.whole
    for size in range(disk.ends[-3][0], len(events)):
        disk.put(events[:size], blobs)
        assert_recovers(disk, whole_batches(disk, size, len(blobs)))


def test_a_log_whose_blobs_are_cut_ends_before_the_event_that_needs_them(disk: Disk) -> None:
    events, blobs = disk.whole
    for size in range(disk.ends[1][1], len(blobs)):
        disk.put(events, blobs[:size])
        assert_recovers(disk, whole_batches(disk, len(events), size))


def test_a_last_batch_whose_blobs_are_not_what_was_written_is_cut_off(disk: Disk) -> None:
    events, blobs = disk.whole
    for at in range(disk.ends[-2][1], len(blobs)):
        disk.put(events, blobs[:at] + bytes([blobs[at] ^ 0x10]) + blobs[at + 1 :])
        _, _, next_seq = disk.open()
        assert next_seq == FIRSTS[-2]
        assert len(disk.read()) == FIRSTS[-2]
        disk.close()


def _garbage(kind: str, disk: Disk, rng: random.Random) -> bytes:
    events, _ = disk.whole
    if kind == "zeros":
        return bytes(rng.randrange(1, 5000))
    if kind == "random":
        return rng.randbytes(rng.randrange(1, 5000))
    if kind == "own older frames":
        n = rng.randrange(0, 5)
        return events[disk.ends[n][0] : disk.ends[n + 1][0]]
    return (disk.root.parent / "other-events").read_bytes()[
        rng.choice([0, disk.ends[0][0], disk.ends[3][0]]) :
    ]


@pytest.mark.parametrize("kind", ["zeros", "random", "own older frames", "frames of another file"])
def test_what_the_disk_had_there_before_is_never_taken_for_the_log(
    disk: Disk, tmp_path: Path, kind: str
) -> None:
    other = Disk(tmp_path / "other")
    shutil.copy(other.events, tmp_path / "other-events")
    other.close()
    events, blobs = disk.whole
    rng = random.Random(kind)
    for _ in range(30):
        keep = rng.choice(disk.ends)[0] if kind == "frames of another file" else len(events)
        torn = rng.choice([0, 0, 7]) if keep > disk.ends[0][0] else 0
        disk.put(events[: keep - torn] + _garbage(kind, disk, rng), blobs)
        assert_recovers(disk, whole_batches(disk, keep - torn, len(blobs)))


def test_any_damaged_byte_in_the_middle_is_named_and_nothing_is_repaired(disk: Disk) -> None:
    events, blobs = disk.whole
    start, end = disk.ends[1][0], disk.ends[3][0]
    for at in range(start, end):
        damaged = events[:at] + bytes([events[at] ^ (1 << at % 8)]) + events[at + 1 :]
        disk.put(damaged, blobs)
        batch = max(n for n, (size, _) in enumerate(disk.ends) if size <= at)
        log = inline(disk.root)
        reading = log.read(S)
        for n in range(FIRSTS[batch]):
            assert as_stored(DRAFTS[n], next(reading))
        with pytest.raises(Corrupt) as found:
            next(reading)
        assert (found.value.offset, found.value.seq) == (disk.ends[batch][0], FIRSTS[batch] - 1)
        with pytest.raises(Corrupt):
            log.open(S, expect=Expect.RESUME, owner="the test")
        assert (disk.events.read_bytes(), disk.audio.read_bytes()) == (damaged, blobs)


def test_a_frame_gone_from_the_middle_is_corrupt(disk: Disk) -> None:
    events, blobs = disk.whole
    disk.put(events[: disk.ends[2][0]] + events[disk.ends[3][0] :], blobs)
    with pytest.raises(Corrupt):
        disk.open()
    with pytest.raises(Corrupt):
        disk.read()


@pytest.mark.parametrize("flips", [300, pytest.param(10_000, marks=pytest.mark.campaign)])
def test_a_random_bit_anywhere_is_never_served_as_something_else(disk: Disk, flips: int) -> None:
    events, blobs = disk.whole
    rng = random.Random(7)
    for _ in range(flips):
        at = rng.randrange(disk.ends[0][0], len(events))
        disk.put(events[:at] + bytes([events[at] ^ (1 << rng.randrange(8))]) + events[at + 1 :], blobs)
        log = inline(disk.root)
        try:
            seqs = [stored.seq for stored in log.read(S) if as_stored(DRAFTS[stored.seq], stored)]
        except Corrupt:
            continue
        assert seqs == list(range(FIRSTS[-2]))  # only the last batch can pass for a torn end


def test_a_log_without_its_blob_file_is_not_opened(disk: Disk) -> None:
    disk.audio.unlink()
    before = disk.events.read_bytes()
    with pytest.raises(Corrupt, match="gone"):
        disk.open()
    assert disk.events.read_bytes() == before


def test_the_blob_file_of_another_log_is_not_taken(disk: Disk, tmp_path: Path) -> None:
    other = Disk(tmp_path / "other")
    shutil.copy(other.audio, disk.audio)
    other.close()
    with pytest.raises(Corrupt, match="not the blob file"):
        disk.open()


def test_a_sealed_log_whose_end_is_damaged_does_not_become_writable(disk: Disk) -> None:
    log, lease, _ = disk.open()
    log.seal(lease, "the end")
    events = disk.events.read_bytes()
    for at in range(disk.ends[-1][0], len(events)):
        disk.events.chmod(0o600)
        disk.events.write_bytes(events[:at] + bytes([events[at] ^ 1]) + events[at + 1 :])
        disk.events.chmod(0o400)
        with pytest.raises(Corrupt, match="seal"):
            disk.open()
        assert len(disk.read()) == len(DRAFTS)
    disk.events.chmod(0o600)
    disk.events.write_bytes(events)
    with pytest.raises(Sealed):
        disk.open()


class Failing:
    """A disk that takes `room` bytes and then answers `code`, once. `meanwhile` is called just before."""

    def __init__(self, room: int, code: int, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.room, self.code, self.meanwhile = room, code, meanwhile
        self.armed = self.failed = False

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if not self.armed or self.failed:
            return os.write(fd, data)
        if self.room == 0:
            self.failed = True
            self.meanwhile()
            raise OSError(self.code, os.strerror(self.code))
        taken = os.write(fd, bytes(data)[: self.room])
        self.room -= taken
        return taken

    def files(self, truncate: Callable[[int, int], None] = os.ftruncate) -> Files:
        return Files(write=self.write, truncate=truncate)


def _sizes(disk: Disk) -> tuple[int, int]:
    return disk.events.stat().st_size, disk.audio.stat().st_size


def _rooms(disk: Disk) -> range:
    """Every byte of the fifth batch, blobs and frames, short of all of them."""
    (events, blobs), (events_after, blobs_after) = disk.ends[4], disk.ends[5]
    return range(events_after - events + blobs_after - blobs)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_full_at_any_byte_of_a_batch_leaves_no_trace_of_it(disk: Disk, code: int) -> None:
    for room in _rooms(disk):
        disk.put(disk.whole[0][: disk.ends[4][0]], disk.whole[1][: disk.ends[4][1]])
        seen: list[list[int]] = []
        failing = Failing(room, code, meanwhile=lambda seen=seen: seen.append(disk.read()))  # type: ignore[misc]
        log, lease, next_seq = disk.open(failing.files())
        failing.armed = True
        assert isinstance(log.append(lease, Seq(next_seq), BATCHES[4]).error, StoreFull)
        assert _sizes(disk) == disk.ends[4]
        assert seen == [list(range(next_seq))]
        # Room was made: the same lease goes on.
        log.append(lease, Seq(next_seq), BATCHES[4]).result()
        assert _sizes(disk) == disk.ends[5]
        disk.close()


def test_a_disk_that_breaks_at_any_byte_of_a_batch_ends_the_lease_and_not_the_log(disk: Disk) -> None:
    for room in _rooms(disk):
        disk.put(disk.whole[0][: disk.ends[4][0]], disk.whole[1][: disk.ends[4][1]])
        failing = Failing(room, errno.EIO)
        log, lease, next_seq = disk.open(failing.files())
        failing.armed = True
        for _ in range(2):
            assert isinstance(log.append(lease, Seq(next_seq), BATCHES[4]).error, OutcomeUnknown)
        with pytest.raises(OutcomeUnknown):
            log.seal(lease, "the end")
        assert len(disk.read()) == next_seq
        again, head = log.open(S, expect=Expect.RESUME, owner="the test")
        assert head.next_seq == next_seq
        log.append(again, Seq(next_seq), BATCHES[4]).result()
        assert _sizes(disk) == disk.ends[5]
        disk.close()


def test_a_full_disk_that_cannot_be_tidied_is_an_unknown_outcome(disk: Disk) -> None:
    def broken(fd: int, size: int) -> None:
        raise OSError(errno.EIO, "broken")

    failing = Failing(20, errno.ENOSPC)
    log, lease, next_seq = disk.open(failing.files(truncate=broken))
    failing.armed = True
    assert isinstance(log.append(lease, Seq(next_seq), BATCHES[1]).error, OutcomeUnknown)
    disk.close()
    assert_recovers(disk, len(DRAFTS))


def test_a_disk_full_at_any_byte_of_a_new_session_lets_it_be_opened_later(tmp_path: Path) -> None:
    for room in range(0, 300, 7):
        failing = Failing(room, errno.ENOSPC)
        failing.armed = True
        session = SessionId(f"s{room}")
        log = inline(tmp_path, failing.files())
        try:
            lease, _ = log.open(session, expect=Expect.NEW, owner="the test")
        except StoreFull:
            assert all(head.next_seq == 0 for head in log.sessions() if head.session == session)
            failing.armed = False
            lease, _ = log.open(session, expect=Expect.NEW, owner="the test")
        failing.armed = False
        log.append(lease, Seq(0), [text(0)]).result()
        log.release(lease)
        assert [stored.seq for stored in log.read(session)] == [0]
        log.close()


def test_a_seal_does_not_wait_for_the_disk(disk: Disk) -> None:
    def broken(fd: int) -> None:
        raise OSError(errno.EIO, "broken")

    log, lease, next_seq = disk.open(Files(sync=broken))
    log.seal(lease, "the end")
    assert isinstance(log.append(lease, Seq(next_seq), [text(0)]).error, Sealed)
    assert len(disk.read()) == len(DRAFTS)


def test_other_sessions_are_untouched_by_one_that_broke(disk: Disk) -> None:
    failing = Failing(0, errno.EIO)
    log, lease, next_seq = disk.open(failing.files())
    other, _ = log.open(SessionId("other"), expect=Expect.NEW, owner="the test")
    failing.armed = True
    assert log.append(lease, Seq(next_seq), [text(0)]).error is not None
    log.append(other, Seq(0), [text(0)]).result()


def test_a_length_that_claims_the_rest_of_the_file_hides_nothing(disk: Disk) -> None:
    events, blobs = disk.whole
    at = disk.ends[1][0]
    for length in (0, 1 << 20, (1 << 32) - 1):
        disk.put(events[: at + 4] + struct.pack("<I", length) + events[at + 8 :], blobs)
        with pytest.raises(Corrupt):
            disk.open()
