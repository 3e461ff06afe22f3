"""The stage suite as somebody meets it who wrote an engine: it passes what is right and names what is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from xml.etree import ElementTree

import pytest

import antiphon.actors.stages.conformance as conformance

THEIRS = Path(__file__).parent / "third_party"

FAULTS = {
    "SaysTheLastWordTwice": "every_operation_ends_once_and_nothing_is_said_after_that",
    "GoesOnAfterTheEnd": "every_operation_ends_once_and_nothing_is_said_after_that",
    "ForgetsTheLastWord": "every_operation_ends_once_and_nothing_is_said_after_that",
    "EndsWithAMeasurement": "the_last_word_is_one_that_ends_and_no_other_is",
    "SaysHalfASample": "sound_comes_in_whole_samples",
    "SpeaksForWhoeverAskedLast": "what_is_said_is_of_the_moment_that_was_asked",
    "BlocksTheStage": "no_call_holds_up_the_stage",
    "SaysNothingToWhatItIsNotFor": "what_it_is_not_for_ends_too",
    "ClaimsWhatCannotBe": "the_descriptor_is_one_that_can_be_served",
    "StaysSilentOnceCancelled": "what_was_cancelled_says_nothing_more_and_the_next_is_answered",
    "CancelsOnce": "cancelling_twice_is_cancelling_once",
    "CancelsWhatTheUserSaid": "what_the_user_said_is_heard_across_a_cancel",
    "KeepsSessionsThatLeft": "a_hundred_sessions_leave_nothing_behind",
    "CountsPlacesWrongly": "a_full_stage_takes_one_more_when_one_has_left",
    "ClosesOnce": "a_session_that_has_left_may_leave_again",
    "NeverLetsGo": "a_session_leaves_in_the_middle_of_its_work",
    "HoldsWhatItRefused": "a_refused_opening_holds_nothing",
    "RemembersTheFormerLife": "a_session_opened_again_begins_anew",
    "HearsItsNeighbours": "a_session_says_what_it_would_have_said_alone",
    "ForgetsASessionOverARefusal": "a_refused_configuration_changes_nothing",
    "RefusesAllConfigurations": "a_configuration_is_answered",
    "SpeaksWhereItMustListen": "where_it_must_listen_it_says_nothing",
    "WaitsForAVoidUnit": "a_unit_of_the_next_moment_does_not_wait_for_a_void_one",
    "DiesQuietly": "its_death_is_told_to_every_session",
}
"""Of every broken engine in mystage.py, the case that must fail."""

Outcomes = dict[str, dict[str, str]]


class Project:
    """A project of its own with an engine in it, and what its tests say."""

    def __init__(self, folder: Path, tests: str) -> None:
        self.folder = folder
        shutil.copy(THEIRS / "mystage.py", folder)
        (folder / "test_mystage.py").write_text(tests)

    def run(self, *cases: str) -> tuple[Outcomes, str]:
        """The outcome of every case by engine ("passed", "failure", "skipped"), and what was printed."""
        # Without any other plugin, and with every warning an error.
        options = ["-p", "no:cacheprovider", "-p", "no:asyncio", "--strict-markers", "-W", "error"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, "--junitxml=found.xml", *cases],
            cwd=self.folder,
            env={**os.environ, "PYTEST_ADDOPTS": ""},
            capture_output=True,
            text=True,
        )
        outcomes: Outcomes = {}
        for case in ElementTree.parse(self.folder / "found.xml").iter("testcase"):
            name = case.get("name", "").removeprefix("test_")
            verdict = next((child.tag for child in case), "passed")
            engine = case.get("classname", "").rpartition(".")[2].removeprefix("Test")
            outcomes.setdefault(engine, {})[name] = verdict
        return outcomes, done.stdout


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcomes, str]:
    project = Project(tmp_path_factory.mktemp("theirs"), (THEIRS / "suite.py").read_text())
    return project.run(*(f"test_mystage.py::Test{engine}::test_{case}" for engine, case in FAULTS.items()))


@pytest.mark.parametrize(("engine", "case"), FAULTS.items(), ids=FAULTS)
def test_a_broken_engine_fails_in_the_case_that_names_its_fault(
    broken: tuple[Outcomes, str], engine: str, case: str
) -> None:
    assert broken[0][engine][case] == "failure"


def test_a_failed_case_shows_the_values_it_compared(broken: tuple[Outcomes, str]) -> None:
    """Assertions are rewritten in the cases too."""
    assert "TestKeepsSessionsThatLeft.test_a_hundred_sessions_leave_nothing_behind" in broken[1]
    assert "assert 100 == 0" in broken[1]


def test_engines_that_are_right_pass_everything(tmp_path: Path) -> None:
    project = Project(tmp_path, (THEIRS / "suite.py").read_text())
    outcomes, printed = project.run("test_mystage.py::TestMyEngine", "test_mystage.py::TestMyUnits")
    assert {verdict for cases in outcomes.values() for verdict in cases.values()} == {"passed", "skipped"}, (
        printed
    )
    passed = {name for cases in outcomes.values() for name, verdict in cases.items() if verdict == "passed"}
    assert passed == set(outcomes["MyUnits"])  # between them, no case is left out


def test_what_the_package_says_to_write_is_enough(tmp_path: Path) -> None:
    words = conformance.__doc__ or ""
    program = textwrap.dedent(words[words.index("    import pytest") : words.index("That runs")])
    assert len(program.strip().splitlines()) <= 10
    outcomes, printed = Project(tmp_path, program).run()
    assert set(outcomes["MyEngine"].values()) == {"passed", "skipped"}, printed
    assert list(outcomes["MyEngine"].values()).count("passed") >= 25
