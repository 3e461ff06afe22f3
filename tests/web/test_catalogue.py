"""The list of sessions: what is read of a store for it, how often, and how much of it is kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon.events.envelope import Stored
from antiphon.events.ids import Operation, ResponseId, SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.units import Samples
from antiphon.events.vocabulary import TextSpoken
from antiphon.web.inspecting import catalogue
from antiphon.web.inspecting.catalogue import Catalogue
from tests.replay.calls import Call


class Read(SegmentLog):
    """A store that knows from which event on which session was read."""

    fails = False

    def __init__(self, root: Path) -> None:
        super().__init__(root, deliver=lambda call: call())
        self.reads: list[tuple[str, int]] = []

    def read(
        self, session: SessionId, *, incarnation: int | None = None, start: int = 0, stop: int | None = None
    ) -> Iterator[Stored]:
        self.reads.append((session, start))
        if self.fails:
            raise OSError("too many open files")
        return super().read(session, incarnation=incarnation, start=start, stop=stop)

    def taken(self) -> list[tuple[str, int]]:
        reads, self.reads = self.reads, []
        return reads


@pytest.fixture
def store(tmp_path: Path) -> Read:
    return Read(tmp_path)


def say(call: Call, at_ms: float, text: str) -> None:
    said = TextSpoken(response=ResponseId("resp_1"), text=text, operation=Operation(0), index=0, from_sample=Samples(0))  # fmt: skip
    call.say(at_ms, said)


def spoken(store: SegmentLog, session: str, *words: str) -> Call:
    call = Call(store, session)
    call.answer(100)
    for k, text in enumerate(words):
        say(call, 200 + k, text)
    return call


def rows(of: Catalogue, search: str = "") -> dict[str, dict[str, Any]]:
    return {row["session"]: row for row in of.listed(search, 0, 100)["sessions"]}


def test_what_is_over_is_read_once_and_of_the_rest_only_what_has_come(store: Read) -> None:
    spoken(store, "over", "It is late.").hang_up(300)
    goes_on = spoken(store, "goes_on", "It is early.")
    listed = Catalogue(store)
    assert rows(listed)["over"]["ended"] == "client"
    store.taken()
    say(goes_on, 400, " Very.")
    assert rows(listed)["goes_on"]["said"] == "It is early. Very."
    assert store.taken() == [("goes_on", 4)]


def hurt(root: Path, session: str) -> Path:
    [path] = root.glob(f"sessions/*/{session}/0/events.log")
    contents = bytearray(path.read_bytes())
    contents[len(contents) // 2] ^= 0xFF
    os.chmod(path, 0o600)
    path.write_bytes(contents)
    os.chmod(path, 0o400)
    return path


def test_of_a_damaged_one_is_told_what_lies_before_the_damage_and_it_is_not_read_again(
    store: Read, tmp_path: Path
) -> None:
    call = spoken(store, "hurt", "It is late.", *["And later."] * 200)
    call.hang_up(5_000)
    path = hurt(tmp_path, "hurt")
    listed = Catalogue(store)
    row = rows(listed)["hurt"]
    assert (row["damaged"], row["ended"], row["responses"]) == (True, "corrupt", 1)
    assert row["events"] > 10
    assert row["began"] is not None
    assert row["said"].startswith("It is late.")
    assert list(rows(listed, "LATE")) == ["hurt"]
    store.taken()
    assert rows(listed)["hurt"] == row
    assert store.taken() == []
    os.utime(path, ns=(1, os.stat(path).st_mtime_ns + 1))
    assert rows(listed)["hurt"] == row
    assert store.taken() == [("hurt", 0)]


def test_what_cannot_be_read_now_is_read_the_next_time(store: Read) -> None:
    spoken(store, "there", "It is late.").hang_up(300)
    listed = Catalogue(store)
    store.fails = True
    assert rows(listed)["there"]["ended"] == "unreadable"
    store.fails = False
    assert (rows(listed)["there"]["ended"], rows(listed)["there"]["damaged"]) == ("client", False)


def test_no_more_is_kept_than_there_is_room_for(store: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "MOST_CHARACTERS", 25)
    for session in ("first", "second", "third"):
        spoken(store, session, "Ten or so. ").hang_up(300)
    listed = Catalogue(store)
    assert len(rows(listed)) == 3
    store.taken()
    assert list(rows(listed, "third")) == ["third"]
    assert {session for session, _ in store.taken()} == {"first", "second", "third"}
    monkeypatch.setattr(catalogue, "MOST_CHARACTERS", 1_000)
    assert len(rows(listed, "ten or so")) == 3
    store.taken()
    assert len(rows(listed, "ten or so")) == 3
    assert store.taken() == []
