"""What lies beside a life's files and is not its log: whatever becomes of it, the log is not harmed."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.events.conformance.drafts import opened, text
from antiphon.events.ids import Seq, SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect, Scope

SESSION = SessionId("sess_derived")


def begun(folder: Path) -> SegmentLog:
    log = SegmentLog(folder, deliver=lambda call: call())
    lease, _ = log.open(SESSION, expect=Expect.NEW, owner="test")
    log.append(lease, Seq(0), [opened(lease.writer_epoch), text(1)]).result()
    log.keep_derived(SESSION, 0, "state", b"what the log leaves")
    log.release(lease)
    return log


def beside(folder: Path) -> list[Path]:
    return list(folder.rglob("derived-*"))


def test_a_file_that_is_not_what_was_kept_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    log = begun(tmp_path)
    [path] = beside(tmp_path)
    whole = path.read_bytes()
    assert log.derived(SESSION, 0, "state") == b"what the log leaves"
    damaged = [whole[:n] for n in range(len(whole))]
    damaged += [whole[:n] + bytes([whole[n] ^ 4]) + whole[n + 1 :] for n in range(len(whole))]
    for data in damaged:
        path.write_bytes(data)
        assert log.derived(SESSION, 0, "state") is None
    log.keep_derived(SESSION, 0, "state", b"again")
    assert log.derived(SESSION, 0, "state") == b"again"


def test_where_nothing_can_be_written_nothing_is_kept_and_the_log_goes_on(tmp_path: Path) -> None:
    log = begun(tmp_path)
    [path] = beside(tmp_path)
    path.unlink()
    path.mkdir()  # whoever renames something to it fails
    log.keep_derived(SESSION, 0, "state", b"kept")
    assert log.derived(SESSION, 0, "state") is None
    assert beside(tmp_path) == [path]
    lease, head = log.open(SESSION, expect=Expect.RESUME, owner="test")
    assert head.next_seq == 2
    log.append(lease, Seq(2), [text(2)]).result()


@pytest.mark.parametrize("scope", list(Scope))
def test_erasing_takes_it_along(tmp_path: Path, scope: Scope) -> None:
    log = begun(tmp_path)
    log.erase(SESSION, scope)
    assert beside(tmp_path) == []


def test_a_name_that_could_be_a_path_is_none(tmp_path: Path) -> None:
    log = begun(tmp_path)
    for name in ("", "../events", "a/b", "State", "a" * 41):
        with pytest.raises(ValueError, match="a name"):
            log.keep_derived(SESSION, 0, name, b"")
