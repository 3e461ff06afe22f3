"""`antiphon replay rerun|compare|suite` by their exit codes and what they print."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from antiphon.cli.main import main
from tests.golden.corpus import GOLDEN

SPOKEN = GOLDEN / "0.2.0" / "spoken.antiphon.zip"
UNHEARD = ("--set", "turn_detection.min_speech_ms=60000")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["replay", *map(str, arguments)])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def session(data: Path) -> str:
    taken = CliRunner().invoke(main, ["log", "import", str(SPOKEN), "--data", str(data), "--json"])
    session: str = json.loads(taken.stdout)["session"]
    return session


def test_a_session_held_again_unchanged_is_shown_side_by_side(data: Path, session: str) -> None:
    result = run("rerun", session, "--data", data)
    assert result.exit_code == 0, result.output
    assert result.stdout.count("The capital of France is Paris.") == 2
    assert "0 turns were decided otherwise" in result.stdout


def test_what_is_decided_otherwise_is_shown_and_ends_with_4(data: Path, session: str) -> None:
    result = run("rerun", session, "--data", data, *UNHEARD)
    assert result.exit_code == 4
    assert "with turn_detection.min_speech_ms=60000" in result.stdout
    assert "decision" in result.stdout


def test_a_program_is_told_the_same(data: Path, session: str) -> None:
    result = run("rerun", session, "--data", data, *UNHEARD, "--json")
    told = json.loads(result.stdout)
    assert result.exit_code == 4
    assert told["decided_alike"] is False
    assert [row["changed"] for row in told["rows"]] == [["decision"], ["decision"]]
    assert told["second"]["turns"] == []


def test_a_threshold_is_given_as_clients_give_it(data: Path, session: str) -> None:
    held = run("rerun", session, "--data", data, "--set", "turn_detection.threshold=0.6")
    assert held.exit_code == 0, held.output
    refused = run("rerun", session, "--data", data, "--set", "turn_detection.threshold=high")
    assert refused.exit_code == 2
    assert "a number from 0 to 1" in refused.stderr


def test_the_new_call_is_kept_and_compared_and_the_page_shows_both(
    tmp_path: Path, data: Path, session: str
) -> None:
    again, page = tmp_path / "again.antiphon.zip", tmp_path / "page.html"
    result = run("rerun", session, "--data", data, "--stage", "scripted", "--set", "stage.text=<Rome>",
                 "--save", again, "--html", page)  # fmt: skip
    assert result.exit_code == 0, result.output
    html = page.read_text("utf-8")
    assert "The capital of France is Paris." in html
    assert "&lt;Rome&gt;" in html
    assert "<Rome>" not in html
    compared = run("compare", session, again, "--data", data, "--json")
    told = json.loads(compared.stdout)
    assert compared.exit_code == 0
    assert [turn["words"] for turn in told["second"]["turns"]] == ["scripted transcript", "<Rome>"]
    verified = run("verify", again)
    assert verified.exit_code == 0, verified.output


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--set", "colour=red"), 1, "a session has no colour"),
        (("--set", "colour"), 2, "is not NAME=VALUE"),
        (("--set", "stage.text=x"), 2, "no --stage is named"),
        (("--stage", "nosuch"), 1, "no engine 'nosuch'"),
        (("--stage", "scripted", "--set", "stage.colour=red"), 1, "unknown field"),
        (("--life", "7"), 1, "has no life 7"),
    ],
)
def test_what_cannot_be_done_is_said(
    data: Path, session: str, arguments: tuple[str, ...], code: int, says: str
) -> None:
    result = run("rerun", session, "--data", data, *arguments)
    assert result.exit_code == code
    assert says in result.stderr


def test_a_suite_passes_until_something_is_decided_otherwise(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    (calls / "more").mkdir(parents=True)
    shutil.copy(SPOKEN, calls)
    shutil.copy(GOLDEN / "0.2.0" / "scripted.antiphon.zip", calls / "more")
    passed = run("suite", calls, "--html", tmp_path / "pages")
    assert passed.exit_code == 0, passed.output
    assert "2 of 2 passed" in passed.stdout
    pages = sorted(page.name for page in (tmp_path / "pages").iterdir())
    assert pages == ["more-scripted.html", "spoken.html"]

    failed = run("suite", calls, *UNHEARD, "--json")
    assert failed.exit_code == 4
    told = {one["name"]: one["failed"] for one in map(json.loads, failed.stdout.splitlines())}
    assert told["more/scripted.antiphon.zip"] == []
    assert "3 turns were decided otherwise" in told["spoken.antiphon.zip"][0]
    assert run("suite", calls, *UNHEARD, "--decisions", 3).exit_code == 0


def test_a_suite_holds_a_stage_to_its_words(tmp_path: Path) -> None:
    shutil.copy(SPOKEN, tmp_path)
    same = ("--set", "stage.text=The capital of France is Paris.",
            "--set", "stage.transcript=What is the capital of France?")  # fmt: skip
    assert run("suite", tmp_path, "--stage", "scripted", *same, "--words", 0).exit_code == 0
    other = run("suite", tmp_path, "--stage", "scripted", "--words", 0.2)
    assert other.exit_code == 4
    assert "of the words are others" in other.stdout


def test_a_suite_of_nothing_is_an_error(tmp_path: Path) -> None:
    result = run("suite", tmp_path)
    assert result.exit_code == 1
    assert "there are no recordings" in result.stderr


def test_a_call_that_cannot_be_held_again_hides_no_other(tmp_path: Path) -> None:
    shutil.copy(SPOKEN, tmp_path / "a.antiphon.zip")
    (tmp_path / "b.antiphon.zip").write_bytes(b"not a zip")
    shutil.copy(GOLDEN / "0.2.0" / "stream.antiphon.zip", tmp_path / "c.antiphon.zip")
    shutil.copy(SPOKEN, tmp_path / "d.antiphon.zip")
    shown = run("suite", tmp_path, "--html", tmp_path / "pages")
    assert shown.exit_code == 1
    assert "2 of 4 passed" in shown.stdout
    assert sorted(page.name for page in (tmp_path / "pages").iterdir()) == ["a.html", "d.html"]
    told = run("suite", tmp_path, *UNHEARD, "--json")
    assert told.exit_code == 1
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    assert [row["held"] for row in rows] == [True, False, False, True]
    assert "ends in the middle of itself" in rows[1]["failed"][0]
    assert "cannot be held again" in rows[2]["failed"][0]
    assert "turns were decided otherwise" in rows[3]["failed"][0]


def test_a_call_whose_audio_is_gone_is_said_and_the_next_is_given_its_own(tmp_path: Path) -> None:
    shutil.copy(GOLDEN / "0.2.0" / "utterances.antiphon.zip", tmp_path / "a.antiphon.zip")
    shutil.copy(SPOKEN, tmp_path / "b.antiphon.zip")
    result = run("suite", tmp_path, "--stage", "scripted", "--json")
    assert result.exit_code == 1
    erased, spoken = map(json.loads, result.stdout.splitlines())
    assert "the audio was erased" in erased["failed"][0]
    assert (spoken["held"], spoken["failed"]) == (True, [])


def test_a_new_call_never_takes_the_place_of_a_file_and_is_its_owners_alone(tmp_path: Path) -> None:
    there = tmp_path / "there.antiphon.zip"
    there.write_bytes(b"mine")
    refused = run("rerun", SPOKEN, "--stage", "nosuch", "--save", there)
    assert refused.exit_code == 1
    assert "exists; name another file with --save" in refused.stderr
    assert there.read_bytes() == b"mine"
    saved, page = tmp_path / "new.antiphon.zip", tmp_path / "page.html"
    page.write_text("the last one")
    assert run("rerun", SPOKEN, "--save", saved, "--html", page).exit_code == 0
    assert {path.stat().st_mode & 0o777 for path in (saved, page)} == {0o600}
    assert "Paris" in page.read_text("utf-8")


def test_nothing_is_left_of_a_call_that_could_not_be_held(tmp_path: Path) -> None:
    result = run("rerun", SPOKEN, "--set", "colour=red", "--save", tmp_path / "new.antiphon.zip")
    assert result.exit_code == 1
    assert list(tmp_path.iterdir()) == []
    missing = run("rerun", SPOKEN, "--save", tmp_path / "nowhere" / "new.antiphon.zip")
    assert missing.exit_code == 1
    assert "cannot be written" in missing.stderr
