"""Landmarks only make it quicker: with them, without them and with wrong ones a log is the same."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.events.conformance.drafts import audio, opened, text
from antiphon.events.errors import Corrupt
from antiphon.events.ids import Seq, SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect

SESSION = SessionId("sess_landmarks")
EVENTS = 5_001


def log_of(folder: Path) -> SegmentLog:
    return SegmentLog(folder, deliver=lambda call: call())


def write(folder: Path) -> None:
    """Events in batches of two, every eighth with sound; what is derived was kept near the end."""
    log = log_of(folder)
    lease, _ = log.open(SESSION, expect=Expect.NEW, owner="test")
    log.append(lease, Seq(0), [opened(lease.writer_epoch)]).result()
    for seq in range(1, EVENTS, 2):
        if seq == EVENTS - 600:
            log.keep_derived(SESSION, 0, "state", b"kept")
        second = audio(seq) if seq % 8 == 1 else text(seq + 1)
        log.append(lease, Seq(seq), [text(seq), second]).result()
    log.release(lease)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("landmarks")
    write(folder)
    return folder


@pytest.fixture(scope="module")
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="antiphon-landmarks-") as folder:
        yield Path(folder)


def copied(written: Path, scratch: Path, name: str) -> Path:
    target = scratch / name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(written, target)
    return target


def file(folder: Path, name: str) -> Path:
    [path] = folder.rglob(name)
    return path


def without(folder: Path) -> Path:
    file(folder, "derived-landmarks*").unlink()
    return folder


def reopened(folder: Path) -> tuple[object, ...]:
    """All that a new writer finds, and what it and others read afterwards."""
    log = log_of(folder)
    lease, head = log.open(SESSION, expect=Expect.RESUME, owner="test")
    log.append(lease, head.next_seq, [text(99)]).result()
    tail = list(log.read(SESSION, start=max(0, head.next_seq - 100)))
    log.release(lease)
    others = [one.event for one in log_of(folder).read(SESSION, start=max(0, head.next_seq - 100))]
    size = file(folder, "audio.blob").stat().st_size, file(folder, "events.log").stat().st_size
    return head.next_seq, head.audio_bytes, [one.event for one in tail], others, size


def spoil(folder: Path) -> None:
    """A bit of its first half."""
    events = file(folder, "events.log")
    data = bytearray(events.read_bytes())
    data[len(data) // 4] ^= 1
    events.write_bytes(data)


def test_reading_from_anywhere_is_reading_from_the_beginning(written: Path) -> None:
    everything = list(log_of(written).read(SESSION))
    assert len(everything) == EVENTS
    for start in (0, 1, 1_023, 1_024, 1_025, 2_048, 4_000, 4_400, EVENTS - 1, EVENTS):
        assert list(log_of(written).read(SESSION, start=start)) == everything[start:]


@settings(deadline=None, max_examples=80)
@given(cut=st.integers(0, 400_000), blobs=st.integers(0, 4_000))
def test_a_log_that_was_cut_ends_where_it_ends(written: Path, scratch: Path, cut: int, blobs: int) -> None:
    one, other = copied(written, scratch, "with"), without(copied(written, scratch, "without"))
    for folder in (one, other):
        events, sound = file(folder, "events.log"), file(folder, "audio.blob")
        with events.open("r+b") as stream:
            stream.truncate(max(1_000, events.stat().st_size - cut))
        with sound.open("r+b") as stream:
            stream.truncate(max(1_000, sound.stat().st_size - blobs))
    assert reopened(one) == reopened(other)


def test_landmarks_of_another_log_are_passed_over(written: Path, scratch: Path) -> None:
    folder = copied(written, scratch, "mixed")
    write(scratch / "foreign")
    shutil.copy(file(scratch / "foreign", "derived-landmarks*"), file(folder, "derived-landmarks*"))
    with (
        file(folder, "events.log").open("rb") as ours,
        file(scratch / "foreign", "events.log").open("rb") as theirs,
    ):
        assert ours.read(200) != theirs.read(200)
    assert reopened(folder) == reopened(without(copied(written, scratch, "without")))


def test_what_lies_before_a_landmark_is_looked_at_by_who_reads_it(written: Path, scratch: Path) -> None:
    folder = copied(written, scratch, "rotten")
    spoil(folder)
    log = log_of(folder)
    lease, head = log.open(SESSION, expect=Expect.RESUME, owner="test")
    assert head.next_seq == EVENTS
    log.append(lease, head.next_seq, [text(1)]).result()
    assert len(list(log.read(SESSION, start=EVENTS - 10))) == 11
    with pytest.raises(Corrupt):
        list(log.read(SESSION))
    log.release(lease)
    with pytest.raises(Corrupt):
        log_of(without(folder)).open(SESSION, expect=Expect.RESUME, owner="test")


def test_the_landmark_before_serves_where_one_is_too_near_the_end(scratch: Path) -> None:
    """A writer recognises repeats of its last 64 batches: from the last landmarks on there are only few."""
    folder = scratch / "large"
    log = log_of(folder)
    lease, _ = log.open(SESSION, expect=Expect.NEW, owner="test")
    log.append(lease, Seq(0), [opened(lease.writer_epoch)]).result()
    for first in range(1, 10_000, 50):
        log.append(lease, Seq(first), [text(seq) for seq in range(first, first + 50)]).result()
    log.keep_derived(SESSION, 0, "state", b"kept")
    log.release(lease)
    spoil(folder)
    again = log_of(folder)
    lease, head = again.open(SESSION, expect=Expect.RESUME, owner="test")
    assert head.next_seq == 10_001
    repeated = [text(seq) for seq in range(10_001 - 64 * 50, 10_001 - 63 * 50)]
    again.append(lease, Seq(10_001 - 64 * 50), repeated).result()
    assert log_of(folder).head(SESSION).next_seq == 10_001
    again.release(lease)
