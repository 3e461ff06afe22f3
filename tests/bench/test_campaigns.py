"""The campaigns find what they look for: stores that break a promise, each in one way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from antiphon.events.conformance.disk import UnluckyDisk
from antiphon.events.envelope import Stored
from antiphon.events.errors import Corrupt
from antiphon.events.ids import SessionId
from antiphon.events.segments.files import Files
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Head, Lease
from bench.campaigns import __main__ as campaigns
from bench.campaigns import stores
from bench.campaigns.victim import NEIGHBOURS, VICTIM


class Store(SegmentLog):
    def __init__(self, root: Path, disk: UnluckyDisk | None = None) -> None:
        disk = disk or UnluckyDisk()
        self.root = root
        files = Files(disk.write, disk.truncate, disk.sync)
        super().__init__(root, deliver=lambda call: call(), files=files, slow_limit=1_000_000)


class LosesTheLastEvent(Store):
    def read(self, session: SessionId, **place: Any) -> Iterator[Stored]:
        *found, _ = super().read(session, **place)
        return iter(found)


class RepairsByCutting(Store):
    def open(self, session: SessionId, **how: Any) -> tuple[Lease, Head]:
        try:
            return super().open(session, **how)
        except Corrupt as damage:
            os.chmod(damage.path, 0o600)
            os.truncate(damage.path, damage.offset)
            return super().open(session, **how)


class TouchesANeighbour(Store):
    def open(self, session: SessionId, **how: Any) -> tuple[Lease, Head]:
        if session == VICTIM:
            for path in self.root.glob(f"sessions/*/{NEIGHBOURS[1]}/0/LOCK"):
                path.write_text(path.read_text() + " ")
        return super().open(session, **how)


class NeverFull(Store):
    """Answers that all is well when the disk is full."""

    def __init__(self, root: Path, disk: UnluckyDisk | None = None) -> None:
        super().__init__(root, Swallowing(disk) if disk else None)


class Swallowing(UnluckyDisk):
    def __init__(self, disk: UnluckyDisk) -> None:
        super().__init__()
        self.disk = disk

    def write(self, fd: int, data: bytes | memoryview) -> int:
        try:
            return self.disk.write(fd, data)
        except OSError:
            return len(data)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def run(store: type[Store], name: str) -> tuple[int, str]:
        monkeypatch.setattr(stores, "segments", store)
        done = CliRunner().invoke(campaigns.main, [name, "--short", "--seed", "5"])
        return done.exit_code, done.output

    return run


@pytest.mark.parametrize(
    ("store", "campaign", "promise"),
    [
        (LosesTheLastEvent, "cut", "lost"),
        (RepairsByCutting, "rot", "undetected"),
        (TouchesANeighbour, "stale", "disturbed"),
        (NeverFull, "fail", "undetected"),
    ],
)
def test_a_broken_promise_ends_the_campaign_and_names_seed_and_case(
    run: Any, tmp_path: Path, store: type[Store], campaign: str, promise: str
) -> None:
    code, said = run(store, campaign)
    assert code == 1
    assert f"BROKEN: {campaign}, seed " in said
    assert f": {promise}: " in said
    kept = Path(said.partition("kept: ")[2].partition("\n")[0])
    assert kept.parent == tmp_path
    assert (kept / "life-0" / "STORE").exists()


def test_a_campaign_that_finds_nothing_says_what_it_tried_and_leaves_nothing(
    run: Any, tmp_path: Path
) -> None:
    code, said = run(Store, "fail")
    assert code == 0, said
    assert "fail, seed 5" in said
    assert "disk full" in said
    assert list(tmp_path.iterdir()) == []
