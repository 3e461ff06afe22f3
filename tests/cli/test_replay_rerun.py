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
