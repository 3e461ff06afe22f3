"""Erasing on files: what a crash, a full disk, damage and other writers make of it; and what is held."""

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from antiphon.events.errors import Corrupt, Erased, LogError, NoSuchSession, Sealed, StoreFull
from antiphon.events.ids import Seq, SessionId
from antiphon.events.segments.audio import TOMBSTONE_SIZE
from antiphon.events.segments.files import Files
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect, Holding, Lease, Scope
from antiphon.events.verify import verify
from tests.events.drafts import audio, opened, payload, text
from tests.events.stores import inline

S = SessionId("s")
VOICES = {1: 400, 2: 30, 4: 64}
"""Bytes of the payloads, by the seq of their events."""


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SegmentLog]:
    log = inline(tmp_path)
    yield log
    log.close()


def speak(log: SegmentLog, session: SessionId = S) -> Lease:
    lease, _ = log.open(session, expect=Expect.NEW, owner="the test")
    log.append(lease, Seq(0), [opened(1), audio(1, 400)]).result()
    log.append(lease, Seq(2), [audio(2, 30), text(3)]).result()
    log.append(lease, Seq(4), [audio(4)]).result()
    return lease


def spoken(log: SegmentLog, end: str) -> None:
    lease = speak(log)
    if end == "sealed":
        log.seal(lease, "the end")
    else:
        log.release(lease)


def life_file(root: Path, name: str, session: str = S, life: int = 0) -> Path:
    (path,) = root.glob(f"sessions/*/{session}/{life}/{name}")
    return path


def heard(log: SegmentLog) -> list[bytes | None]:
    """Every payload; None for one that was erased."""
    found: list[bytes | None] = []
    for stored in log.read(S):
        if stored.blob is not None:
            try:
                found.append(log.read_blob(S, stored.blob))
            except Erased:
                found.append(None)
    return found


WHOLE = [payload(n, size) for n, size in VOICES.items()]


class Stopped(BaseException):
    """The process ends here."""


class Stopping:
    """A process that ends just before its n-th system call, counted over everything an erasure calls."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
        self.left = calls
        for name in (
            "write",
            "pwrite",
            "ftruncate",
            "fdatasync",
            "fsync",
            "unlink",
            "chmod",
            "rmdir",
            "open",
        ):
            monkeypatch.setattr(os, name, self._counted(getattr(os, name)))
        self.files = Files(write=os.write, truncate=os.ftruncate, sync=os.fdatasync)

    def _counted(self, call: Callable[..., object]) -> Callable[..., object]:
        def counted(*args: object, **named: object) -> object:
            if self.left == 0:
                raise Stopped
            self.left -= 1
            return call(*args, **named)

        return counted


@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize("end", ["sealed", "released"])
def test_an_erasure_cut_short_anywhere_leaves_a_life_that_verifies_and_can_be_erased(
    tmp_path: Path, scope: Scope, end: str
) -> None:
    stopped, calls = True, 0
    while stopped:
        root = tmp_path / str(calls)
        spoken(inline(root), end)
        with pytest.MonkeyPatch.context() as patch:
            stopping = Stopping(patch, calls)
            try:
                inline(root, stopping.files).erase(S, scope)
                stopped = False
            except Stopped:
                calls += 1
        after = inline(root)
        if stopped:
            assert_readable_or_erased(after)
        after.erase(S, scope)
        assert_gone(after, scope)
    assert calls > 5


def assert_readable_or_erased(log: SegmentLog) -> None:
    try:
        head = log.head(S)
    except NoSuchSession:
        return
    assert heard(log) in (WHOLE, [None] * len(WHOLE))
    assert verify(log, S).sound
    assert head.erased == (heard(log)[0] is None)
    if head.erased:
        with pytest.raises(Sealed):
            log.open(S, expect=Expect.RESUME, owner="the test")


def assert_gone(log: SegmentLog, scope: Scope) -> None:
    if scope is Scope.ALL:
        with pytest.raises(NoSuchSession):
            log.head(S)
        assert list(log.holdings()) == []
    else:
        head = log.head(S)
        assert (head.erased, head.sealed, head.next_seq, head.audio_bytes) == (True, True, 5, 0)
        assert heard(log) == [None] * len(WHOLE)
        assert verify(log, S).sound
        (holding,) = log.holdings()
        assert (holding.erased, holding.sealed, holding.audio_bytes) == (True, True, TOMBSTONE_SIZE)


@pytest.mark.parametrize("scope", Scope)
def test_a_full_disk_does_not_stand_in_the_way(tmp_path: Path, scope: Scope) -> None:
    spoken(inline(tmp_path), "released")
    full = True

    def write(fd: int, data: bytes | memoryview) -> int:
        if full:
            raise OSError(errno.ENOSPC, "full")
        return os.write(fd, data)

    def truncate(fd: int, size: int) -> None:
        nonlocal full
        os.ftruncate(fd, size)
        full = False

    # The lock's line is all that an erasure writes before room has been made.
    log = inline(tmp_path, Files(write=write, truncate=truncate))
    log.erase(S, scope)
    assert_gone(log, scope)


def test_a_disk_that_stays_full_keeps_no_audio_all_the_same(tmp_path: Path) -> None:
    spoken(inline(tmp_path), "released")

    def full(fd: int, data: bytes | memoryview) -> int:
        raise OSError(errno.ENOSPC, "full")

    log = inline(tmp_path, Files(write=full))
    with pytest.raises(StoreFull):
        log.erase(S, Scope.AUDIO)
    assert heard(log) == [None] * len(WHOLE)
    assert life_file(tmp_path, "audio.blob").stat().st_size == TOMBSTONE_SIZE
    inline(tmp_path).erase(S, Scope.AUDIO)
    assert_gone(log, Scope.AUDIO)


def test_a_failed_sync_says_that_the_audio_may_come_back(tmp_path: Path) -> None:
    spoken(inline(tmp_path), "sealed")

    def broken(fd: int) -> None:
        raise OSError(errno.EIO, "broken")

    with pytest.raises(OSError, match="broken"):
        inline(tmp_path, Files(sync=broken)).erase(S, Scope.AUDIO)
    inline(tmp_path).erase(S, Scope.AUDIO)
    assert_gone(inline(tmp_path), Scope.AUDIO)


@pytest.mark.parametrize("name", ["events.log", "audio.blob"])
@pytest.mark.parametrize("at", [0, 30, 200, 300])
@pytest.mark.parametrize("scope", Scope)
def test_a_damaged_life_can_be_erased(
    log: SegmentLog, tmp_path: Path, name: str, at: int, scope: Scope
) -> None:
    spoken(log, "released")
    path = life_file(tmp_path, name)
    path.write_bytes(path.read_bytes()[:at] + b"????" + path.read_bytes()[at + 4 :])
    log.erase(S, scope)
    left = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert all(voice[:16] not in left for voice in WHOLE)


def test_a_life_that_lost_its_seal_cannot_be_resumed_and_erasing_it_seals_it(
    log: SegmentLog, tmp_path: Path
) -> None:
    spoken(log, "released")
    events = life_file(tmp_path, "events.log")
    events.chmod(0o400)  # as a power cut leaves it that took the seal and not the mode
    with pytest.raises(Corrupt, match="power cut"):
        log.open(S, expect=Expect.RESUME, owner="the test")
    assert heard(log) == WHOLE
    log.erase(S, Scope.AUDIO)
    assert_gone(log, Scope.AUDIO)
    assert events.stat().st_mode & 0o777 == 0o400


def test_nothing_is_erased_of_a_session_whose_latest_life_is_written(log: SegmentLog, tmp_path: Path) -> None:
    spoken(log, "sealed")
    lease = speak(log)
    for scope in Scope:
        with pytest.raises(LogError, match="being written by the test"):
            inline(tmp_path).erase(S, scope)
    assert not any(log.head(S, incarnation=life).erased for life in (0, 1))
    log.append(lease, Seq(5), [text(5)]).result()


def test_a_number_is_not_used_again_even_if_it_was_the_only_one(log: SegmentLog) -> None:
    for expected in range(3):
        lease = speak(log)
        assert lease.incarnation == expected
        log.seal(lease, "the end")
        log.erase(S, Scope.ALL)
        assert list(log.sessions()) == []


def without_audio(root: Path) -> SegmentLog:
    return SegmentLog(root, deliver=lambda answer: answer(), slow_limit=1_000_000, keep_audio=False)


def test_audio_that_is_not_kept_goes_when_the_life_is_sealed(tmp_path: Path) -> None:
    log = without_audio(tmp_path)
    lease = speak(log)
    assert heard(log) == WHOLE  # a living session may need it
    log.seal(lease, "the end")
    assert_gone(log, Scope.AUDIO)
    assert speak(log).incarnation == 1
    log.close()


def test_audio_that_is_not_kept_stays_while_a_released_life_may_be_resumed_here(tmp_path: Path) -> None:
    log = without_audio(tmp_path)
    log.release(speak(log))
    lease, _ = log.open(S, expect=Expect.RESUME, owner="the test")
    assert heard(log) == WHOLE
    other = inline(tmp_path)
    log.release(lease)
    other.open(S, expect=Expect.RESUME, owner="another")
    log.close()
    assert heard(other) == WHOLE  # it is the other's now
    other.close()


@pytest.mark.parametrize("release", [True, False])
def test_audio_that_is_not_kept_goes_when_the_store_is_closed(tmp_path: Path, release: bool) -> None:
    log = without_audio(tmp_path)
    lease = speak(log)
    if release:
        log.release(lease)
    log.close()
    assert_gone(inline(tmp_path), Scope.AUDIO)


def only(holdings: Iterator[Holding], session: str) -> Holding:
    (found,) = [holding for holding in holdings if holding.session == session]
    return found


def test_what_is_held_is_told_of_every_life(log: SegmentLog, tmp_path: Path) -> None:
    spoken(log, "sealed")
    speak(log)
    speak(log, SessionId("left"))
    log.release(speak(log, SessionId("damaged")))
    path = life_file(tmp_path, "events.log", "damaged")
    path.write_bytes(b"?" * path.stat().st_size)
    held = sorted(inline(tmp_path).holdings(), key=lambda one: (one.session, one.incarnation))
    assert [(one.session, one.incarnation, one.live, one.sealed) for one in held] == [
        ("damaged", 0, False, False),
        ("left", 0, True, False),
        ("s", 0, False, True),
        ("s", 1, True, False),
    ]
    for one in held:
        for size, name in ((one.events_bytes, "events.log"), (one.audio_bytes, "audio.blob")):
            assert size == life_file(tmp_path, name, one.session, one.incarnation).stat().st_size
        events = life_file(tmp_path, "events.log", one.session, one.incarnation)
        assert one.last_written_ns == events.stat().st_mtime_ns


def test_who_looks_whether_a_life_is_live_does_not_refuse_its_writer(
    log: SegmentLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look takes the lock for two system calls; a writer that comes between them waits for the second."""
    log.release(speak(log))
    looking = os.open(life_file(tmp_path, "events.log"), os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    refusals, flock = 0, fcntl.flock

    def until_the_look_is_over(fd: int, how: int) -> None:
        nonlocal refusals
        try:
            flock(fd, how)
        except BlockingIOError:
            refusals += 1
            if refusals == 3:
                os.close(looking)
            raise

    monkeypatch.setattr(fcntl, "flock", until_the_look_is_over)
    lease, _ = log.open(S, expect=Expect.RESUME, owner="the test")
    assert (lease.writer_epoch, refusals) == (2, 3)


def test_a_life_that_the_disk_does_not_show_hides_no_other(tmp_path: Path) -> None:
    with contextlib.closing(inline(tmp_path)) as log:
        for name in ("good", "bad"):
            lease, _ = log.open(SessionId(name), expect=Expect.NEW, owner="test")
            log.append(lease, Seq(0), [text(0)]).result()
            log.release(lease)
        (events,) = tmp_path.glob("sessions/*/bad/0/events.log")
        events.unlink()
        events.symlink_to(events.name)  # whoever asks for it goes round in circles
        assert [holding.session for holding in log.holdings()] == ["good"]
        assert [head.session for head in log.sessions()] == ["good"]
