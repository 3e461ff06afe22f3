"""`antiphon log export`, `import` and `erase`."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from antiphon.cli.main import main

from .logs import damage, file, one_call, rows, run, store_at


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files without a folder are written here."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


# --- export and import ------------------------------------------------------------------------------------


def test_a_session_leaves_in_a_file_and_arrives_elsewhere(data: Path, tmp_path: Path) -> None:
    call = one_call(data)
    left = run("export", "sess_call", data=data)
    assert left.exit_code == 0
    assert left.stdout.startswith("sess_call.antiphon.zip: written: sess_call, 9 events")
    assert os.stat("sess_call.antiphon.zip").st_mode & 0o777 == 0o600
    arrived = run("import", "sess_call.antiphon.zip", data=tmp_path / "new" / "store")
    assert arrived.exit_code == 0
    assert "taken in: sess_call, 9 events" in arrived.stdout
    there = store_at(tmp_path / "new" / "store")
    assert list(there.read(call.session)) == list(call.log.read(call.session))
    assert run("verify", data=tmp_path / "new" / "store").exit_code == 0


def test_sound_and_text_are_in_it_on_request(data: Path) -> None:
    one_call(data)
    result = run("export", "sess_call", "--sound", "--jsonl", "--to", "call.zip", "--json", data=data)
    [manifest] = rows(result)
    assert names(Path("call.zip")) == [*manifest["files"], "manifest.json"]
    assert manifest["files"]["conversation.wav"]["bytes"] == 44 + 4 * 24 * (1_210 + 500)
    everything = run("export", "sess_call", "--sound", "--generated", "--to", "all.zip", "--json", data=data)
    assert rows(everything)[0]["files"]["conversation.wav"]["bytes"] == 44 + 4 * 24 * (1_210 + 1_000)
    assert run("export", "sess_call", "--generated", "--to", "x.zip", data=data).exit_code == 2


def test_a_file_that_is_there_is_not_written_over(data: Path) -> None:
    one_call(data)
    Path("sess_call.antiphon.zip").write_text("mine")
    result = run("export", "sess_call", data=data)
    assert result.exit_code == 1
    assert "--to" in result.output
    assert Path("sess_call.antiphon.zip").read_text() == "mine"


@pytest.mark.parametrize("session", ["nobody", "../../nobody", "", "."])
def test_what_is_not_there_is_not_exported(data: Path, session: str) -> None:
    one_call(data)
    result = run("export", session, data=data)
    assert result.exit_code == 1
    assert "no log of session" in result.output
    assert list(Path().iterdir()) == []


def test_each_life_is_exported_by_its_number(data: Path) -> None:
    one_call(data)
    one_call(data)
    assert run("export", "sess_call", "--life", 0, data=data).exit_code == 0
    assert run("export", "sess_call", data=data).exit_code == 0
    assert sorted(path.name for path in Path().iterdir()) == [
        "sess_call-0.antiphon.zip",
        "sess_call.antiphon.zip",
    ]
    taken = run("import", *Path().iterdir(), "--json", data=data.with_name("other"))
    assert sorted(one["incarnation"] for one in rows(taken)) == [0, 1]
    missing = run("export", "sess_call", "--life", 7, data=data)
    assert missing.exit_code == 1
    assert len(list(Path().iterdir())) == 2


def test_a_damaged_log_is_not_exported_and_nothing_is_left_of_the_try(data: Path) -> None:
    one_call(data)
    damage(file(data, "sess_call", "audio.blob"), 30)
    result = run("export", "sess_call", data=data)
    assert result.exit_code == 3
    assert "damaged" in result.output
    assert list(Path().iterdir()) == []


def test_a_folder_that_cannot_be_written_is_said(data: Path) -> None:
    one_call(data)
    result = run("export", "sess_call", "--to", "nowhere/call.zip", data=data)
    assert result.exit_code == 1
    assert "nowhere/call.zip cannot be written" in result.output


def test_of_several_files_the_good_ones_are_taken_in_and_the_others_named(data: Path, tmp_path: Path) -> None:
    for session in ("sess_one", "sess_two"):
        one_call(data, session)
        run("export", session, data=data)
    Path("noise.zip").write_bytes(b"noise" * 100)
    there = tmp_path / "there"
    result = run("import", "sess_one.antiphon.zip", "noise.zip", "sess_two.antiphon.zip", data=there)
    assert result.exit_code == 1
    assert "noise.zip: not taken in" in result.stderr
    assert result.stdout.count("taken in: sess_") == 2
    again = run("import", "sess_one.antiphon.zip", data=there)
    assert again.exit_code == 1
    assert "already" in again.stderr


def test_a_damaged_recording_is_said_to_be_damaged(data: Path, tmp_path: Path) -> None:
    one_call(data)
    run("export", "sess_call", data=data)
    content = bytearray(Path("sess_call.antiphon.zip").read_bytes())
    content[content.index(b"AudioSpoken")] ^= 1
    Path("sess_call.antiphon.zip").write_bytes(content)
    result = run("import", "sess_call.antiphon.zip", data=tmp_path / "there")
    assert result.exit_code == 1
    assert "not taken in" in result.stderr
    assert rows(run("ls", "--json", data=tmp_path / "there")) == []


def test_a_folder_that_holds_something_else_does_not_become_a_store(data: Path, tmp_path: Path) -> None:
    one_call(data)
    run("export", "sess_call", data=data)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"meow")
    result = run("import", "sess_call.antiphon.zip", data=tmp_path / "photos")
    assert result.exit_code == 1
    assert [path.name for path in (tmp_path / "photos").iterdir()] == ["cat.jpg"]


# --- erase ------------------------------------------------------------------------------------------------


def test_audio_is_erased_and_the_rest_still_verifies(data: Path) -> None:
    one_call(data)
    planted = file(data, "sess_call", "audio.blob").read_bytes()[1_000:1_400]
    result = run("erase", "sess_call", "--audio", "--yes", data=data)
    assert (result.exit_code, result.stdout) == (0, "erased 96.0 kB\n")
    assert not any(planted in path.read_bytes() for path in data.rglob("*") if path.is_file())
    [looked] = rows(run("verify", "--json", data=data))
    assert (looked["verdict"], looked["erased"]) == ("sound", 2)
    assert run("show", "sess_call", data=data).exit_code == 0
    [listed] = rows(run("ls", "--json", data=data))
    assert listed["erased"]
    again = run("erase", "sess_call", "--audio", "--yes", data=data)
    assert (again.exit_code, again.stdout) == (0, "there was nothing left to erase\n")


def test_a_whole_session_is_erased_with_all_its_lives_or_one_of_them(data: Path) -> None:
    for _ in range(3):
        one_call(data)
    assert run("erase", "sess_call", "--all", "--life", 1, "--yes", data=data).exit_code == 0
    assert [one["life"] for one in rows(run("verify", "--json", data=data))] == [0, 2]
    [erased] = rows(run("erase", "sess_call", "--all", "--yes", "--json", data=data))
    assert (erased["lives"], erased["scope"]) == ([0, 2], "all")
    assert run("show", "sess_call", data=data).exit_code == 1
    assert run("erase", "sess_call", "--all", "--yes", data=data).exit_code == 0


def test_nothing_is_erased_before_somebody_has_said_yes(data: Path) -> None:
    one_call(data)
    for typed in ("n\n", "\n", ""):
        result = run("erase", "sess_call", "--all", data=data, typed=typed)
        assert result.exit_code == 1
        assert "It cannot be undone" in result.stderr
    assert run("show", "sess_call", data=data).exit_code == 0
    assert run("erase", "sess_call", "--all", data=data, typed="y\n").exit_code == 0
    assert run("show", "sess_call", data=data).exit_code == 1


def test_a_session_that_is_talked_in_is_not_erased(data: Path) -> None:
    call = one_call(data, sealed=False)
    result = run("erase", "sess_call", "--audio", "--yes", data=data)
    assert result.exit_code == 1
    assert "is being written by the test" in result.output
    call.hang_up(3_000)
    assert run("erase", "sess_call", "--audio", "--yes", data=data).exit_code == 0


@pytest.mark.parametrize("wishes", [(), ("--audio", "--all")])
def test_what_to_erase_must_be_said(data: Path, wishes: tuple[str, ...]) -> None:
    one_call(data)
    assert run("erase", "sess_call", "--yes", *wishes, data=data).exit_code == 2
    assert run("show", "sess_call", data=data).exit_code == 0


def test_what_was_never_there_cannot_be_erased(data: Path) -> None:
    one_call(data)
    for arguments in (("nobody",), ("sess_call", "--life", "9")):
        assert run("erase", *arguments, "--all", "--yes", data=data).exit_code == 1


# --- completion -------------------------------------------------------------------------------------------


def test_a_shell_completes_the_sessions_there_are(data: Path) -> None:
    for session in ("sess_one", "sess_two", "call_three"):
        one_call(data, session)
    asked = {"_ANTIPHON_COMPLETE": "bash_complete", "COMP_WORDS": "antiphon log show sess", "COMP_CWORD": "3"}
    result = CliRunner().invoke(main, env={**asked, "ANTIPHON_DATA": str(data)}, prog_name="antiphon")
    assert result.stdout.split() == ["plain,sess_one", "plain,sess_two"]
