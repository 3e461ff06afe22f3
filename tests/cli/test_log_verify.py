"""`antiphon log verify`: what it says, and with which code it ends."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from antiphon.cli.main import main
from antiphon.events.container import Container
from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Scope

from .logs import damage, file, one_call, rows, run, store_at


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_sound_logs_are_listed_and_the_code_is_0(data: Path) -> None:
    for session in ("sess_one", "sess_one", "sess_two"):
        one_call(data, session)
    talking = one_call(data, "sess_live", sealed=False)
    result = run("verify", data=data)
    assert result.exit_code == 0
    assert "4 sound" in result.stdout
    looked = rows(run("verify", "--json", data=data))
    assert [(one["session"], one["life"], one["state"], one["verdict"]) for one in looked] == [
        ("sess_live", 0, "live", "sound"),
        ("sess_one", 0, "sealed", "sound"),
        ("sess_one", 1, "sealed", "sound"),
        ("sess_two", 0, "sealed", "sound"),
    ]
    assert all(one["payload_bytes"] == 2 * 48_000 for one in looked)
    talking.hang_up(3_000)


def test_one_session_and_one_life_can_be_named(data: Path) -> None:
    for session in ("sess_one", "sess_one", "sess_two"):
        one_call(data, session)
    assert [one["life"] for one in rows(run("verify", "sess_one", "--json", data=data))] == [0, 1]
    assert [one["life"] for one in rows(run("verify", "sess_one", "--life", 1, "--json", data=data))] == [1]
    for arguments in (("nobody",), ("sess_one", "--life", "7")):
        missing = run("verify", *arguments, data=data)
        assert missing.exit_code == 1
        assert "no log of session" in missing.output


def test_everything_that_is_damaged_is_named_and_the_code_is_3(data: Path) -> None:
    for session in ("sess_audio", "sess_frame", "sess_sound"):
        one_call(data, session)
    damage(file(data, "sess_audio", "audio.blob"), 24)
    damage(file(data, "sess_audio", "audio.blob"), 24 + 48_000)
    events = file(data, "sess_frame", "events.log")
    damage(events, events.read_bytes().index(b"AudioSpoken"))
    result = run("verify", data=data)
    assert result.exit_code == 3
    said = result.stdout.splitlines()
    assert "sess_audio/0: audio.blob byte 24, event 2: damaged payload" in said
    assert "sess_audio/0: audio.blob byte 48024, event 4: damaged payload" in said
    assert any(line.startswith("sess_frame/0: events.log byte") and "after event 3" in line for line in said)
    assert said[-1] == "1 sound, 2 damaged"
    audio, frame, sound = rows(run("verify", "--json", data=data))
    assert [one["file"] for one in audio["findings"]] == ["audio.blob", "audio.blob"]
    assert [(one["kind"], one["seq"]) for one in frame["findings"]] == [("frame", 3)]
    assert sound["findings"] == []


def test_a_damaged_seal_is_damage(data: Path) -> None:
    one_call(data)
    events = file(data, "sess_call", "events.log")
    damage(events, events.stat().st_size - 3)
    result = run("verify", data=data)
    assert result.exit_code == 3
    assert "the seal is damaged" in result.stdout


def test_a_log_that_is_damaged_in_many_places_is_told_shortly_to_people_and_wholly_to_programs(
    data: Path,
) -> None:
    call = one_call(data, sealed=False)
    for n in range(30):
        call.hear(2_000 + n, b"\1\0")
    call.hang_up(3_000)
    blobs = file(data, "sess_call", "audio.blob")
    for n in range(30):
        damage(blobs, 24 + 2 * 48_000 + 2 * n)
    result = run("verify", data=data)
    assert "and 10 more; --json shows all of them" in result.stdout
    [one] = rows(run("verify", "--json", data=data))
    assert len(one["findings"]) == 30


def test_what_cannot_be_looked_at_is_said_and_the_code_is_1(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_call(data, "sess_sound")
    one_call(data, "sess_odd")
    export = SegmentLog.export

    def failing(store: SegmentLog, session: SessionId, **options: int | None) -> Container:
        if session == "sess_odd":
            raise OSError(errno.EIO, "Input/output error")
        return export(store, session, **options)

    monkeypatch.setattr(SegmentLog, "export", failing)
    result = run("verify", data=data)
    assert result.exit_code == 1
    assert "1 sound, 1 not looked at" in result.stdout
    assert "sess_odd/0: [Errno 5] Input/output error" in result.stdout


def test_an_empty_store_has_nothing_to_verify(data: Path) -> None:
    store_at(data)
    result = run("verify", data=data)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "no logs")


def test_who_is_no_terminal_is_shown_no_bar(data: Path) -> None:
    one_call(data)
    assert run("verify", data=data).stderr == ""


@pytest.mark.parametrize(
    "command", [["log", "verify"], ["log", "stats"], ["log", "ls"], ["replay", "verify"]]
)
def test_a_session_that_is_erased_while_all_are_looked_at_is_no_fault(
    data: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    for session in ("sess_gone", "sess_kept"):
        one_call(data, session)

    def then_erased(listing: Callable[[SegmentLog], Iterable[Any]]) -> Callable[[SegmentLog], list[Any]]:
        """What is found, and one of them is gone when it is looked at."""

        def list_and_erase(store: SegmentLog) -> list[Any]:
            found = [*listing(store)]
            store.erase(SessionId("sess_gone"), Scope.ALL)
            return found

        return list_and_erase

    monkeypatch.setattr(SegmentLog, "sessions", then_erased(SegmentLog.sessions))
    monkeypatch.setattr(SegmentLog, "holdings", then_erased(SegmentLog.holdings))
    result = CliRunner().invoke(main, [*command, "--data", str(data)])
    assert (result.exit_code, result.exception) == (0, None)
    assert "sess_kept" in result.stdout or command == ["log", "stats"]
