"""The lock is that of the events file, which can be removed or replaced while somebody waits for it."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from antiphon.events.errors import Locked, NoSuchSession
from antiphon.events.ids import Seq, SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect, Lease, Scope
from tests.events.drafts import text
from tests.events.stores import inline

S = SessionId("s")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SegmentLog]:
    log = inline(tmp_path)
    lease = opened(log, Expect.NEW)
    log.append(lease, Seq(0), [text(0)]).result()
    log.release(lease)
    yield log
    log.close()


def opened(log: SegmentLog, expect: Expect = Expect.RESUME, owner: str = "the test") -> Lease:
    return log.open(S, expect=expect, owner=owner)[0]


def life_file(root: Path, name: str) -> Path:
    (path,) = root.glob(f"sessions/*/s/0/{name}")
    return path


def before_the_next_lock(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Have it happen between the opening of a file and its lock."""
    flock = fcntl.flock

    def after_it(fd: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", flock)
        happens()
        flock(fd, how)

    monkeypatch.setattr(fcntl, "flock", after_it)


def test_who_locked_a_file_that_was_replaced_writes_to_the_one_in_its_place(
    log: SegmentLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = life_file(tmp_path, "events.log")

    def replace() -> None:
        path.rename(tmp_path / "aside")
        shutil.copy(tmp_path / "aside", path)

    before_the_next_lock(monkeypatch, replace)
    lease = opened(log)
    with pytest.raises(Locked):
        opened(inline(tmp_path))
    log.append(lease, Seq(1), [text(1)]).result()
    assert [stored.seq for stored in log.read(S)] == [0, 1]


def test_who_locked_a_file_that_was_erased_finds_no_session(
    log: SegmentLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_the_next_lock(monkeypatch, lambda: inline(tmp_path).erase(S, Scope.ALL))
    with pytest.raises(NoSuchSession):
        opened(log)
    assert opened(log, Expect.NEW).incarnation == 1


def test_who_locked_a_life_that_was_sealed_begins_the_next(
    log: SegmentLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = inline(tmp_path)
    before_the_next_lock(monkeypatch, lambda: other.seal(opened(other), "the end"))
    lease = opened(log, Expect.NEW)
    assert lease.incarnation == 1


def test_who_holds_it_is_named_and_looking_makes_no_files(log: SegmentLog, tmp_path: Path) -> None:
    opened(log, owner="the first")
    before = sorted(tmp_path.rglob("*"))
    other = inline(tmp_path)
    assert [holding.live for holding in other.holdings()] == [True]
    assert other.head(S).writer_epoch == 2
    with pytest.raises(Locked, match=f"the first .pid {os.getpid()}."):
        opened(other)
    with pytest.raises(Locked, match="the first"):
        other.erase(S, Scope.ALL)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_writer_that_has_appended_nothing_is_counted(log: SegmentLog) -> None:
    for _ in range(3):
        log.release(opened(log))
    assert opened(log).writer_epoch == 5
