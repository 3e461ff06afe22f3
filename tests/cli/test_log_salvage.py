"""`antiphon log salvage`: a damaged log, and what can be had of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from .logs import damage, file, one_call, rows, run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A store with a damaged call of nine events: four of them can be kept, four lie behind."""
    data = tmp_path / "data"
    one_call(data)
    events = file(data, "sess_call", "events.log")
    damage(events, events.read_bytes().index(b"AudioSpoken"))
    return data


def contents(data: Path) -> dict[str, bytes]:
    life = file(data, "sess_call", "events.log").parent
    return {str(path.relative_to(life)): path.read_bytes() for path in life.rglob("*") if path.is_file()}


def test_what_is_damaged_and_what_can_be_kept_is_said_and_nothing_is_changed(data: Path) -> None:
    before = contents(data)
    result = run("salvage", "sess_call", data=data)
    assert result.exit_code == 3
    assert "4 events can be kept; 4 more lie behind the damage" in result.stdout
    assert "--in-place" in result.stderr
    [said] = rows(run("salvage", "sess_call", "--json", data=data))
    assert (said["damaged"], said["salvaged"], said["kept"], said["behind"]) == (True, False, 4, 4)
    assert contents(data) == before


def test_what_is_sound_is_put_in_place_and_the_damaged_files_aside(data: Path) -> None:
    before = contents(data)
    result = run("salvage", "sess_call", "--in-place", "--yes", data=data)
    assert result.exit_code == 0
    assert "salvaged: 4 events" in result.stdout
    assert run("verify", data=data).exit_code == 0
    shown = rows(run("show", "sess_call", "--json", data=data))
    assert [one["type"] for one in shown] == [
        "WriterOpened", "SessionOpened", "InputAppended", "ResponseCreated",
    ]  # fmt: skip
    after = contents(data)
    kept = {
        name.rpartition("/")[2]: content for name, content in after.items() if name.startswith("damaged-")
    }
    assert kept["events.log"] == before["events.log"]
    assert kept["audio.blob"] == before["audio.blob"]
    again = run("salvage", "sess_call", "--in-place", data=data)
    assert (again.exit_code, again.stdout) == (0, "sess_call/0: nothing is damaged\n")


def test_nothing_is_repaired_before_somebody_has_said_yes(data: Path) -> None:
    before = contents(data)
    for typed in ("n\n", ""):
        assert run("salvage", "sess_call", "--in-place", data=data, typed=typed).exit_code == 1
    assert contents(data) == before
    assert run("salvage", "sess_call", "--in-place", data=data, typed="y\n").exit_code == 0


def test_what_is_sound_leaves_in_a_recording_and_the_log_stays(data: Path, tmp_path: Path) -> None:
    before = contents(data)
    saved = tmp_path / "saved.antiphon.zip"
    assert run("salvage", "sess_call", "--to", saved, data=data).exit_code == 0
    assert contents(data) == before
    there = tmp_path / "there"
    assert run("import", saved, data=there).exit_code == 0
    assert len(rows(run("show", "sess_call", "--json", data=there))) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "saved.antiphon.zip", "there"]


def test_what_lies_behind_the_damage_can_be_looked_at(data: Path) -> None:
    shown = rows(run("salvage", "sess_call", "--behind", "--json", data=data))
    assert [one["seq"] for one in shown] == [5, 6, 7, 8]
    assert "SessionClosed" in run("salvage", "sess_call", "--behind", data=data).stdout


def test_a_sound_log_needs_no_salvage(tmp_path: Path) -> None:
    one_call(tmp_path / "data")
    result = run("salvage", "sess_call", data=tmp_path / "data")
    assert (result.exit_code, result.stdout) == (0, "sess_call/0: nothing is damaged\n")


def test_what_makes_no_sense_is_refused(data: Path, tmp_path: Path) -> None:
    assert run("salvage", "sess_call", "--behind", "--in-place", data=data).exit_code == 2
    assert run("salvage", "nobody", data=data).exit_code == 1
    (tmp_path / "mine.zip").write_text("mine")
    assert run("salvage", "sess_call", "--to", tmp_path / "mine.zip", data=data).exit_code == 1
    assert (tmp_path / "mine.zip").read_text() == "mine"
