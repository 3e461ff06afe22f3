"""The conformance suite as somebody meets it who wrote a store: it passes what is right and names what is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from xml.etree import ElementTree

import pytest

import antiphon.events.conformance as conformance

THEIRS = Path(__file__).parent / "third_party"

FAULTS = {
    "TestLosesTheLastOfABatch": "what_is_appended_is_read_back_in_order_with_its_blobs",
    "TestAcceptsAStaleLease": "opening_raises_the_epoch_and_fences_the_lease_before",
    "TestReorders": "what_is_appended_is_read_back_in_order_with_its_blobs",
    "TestStoresHalfABatch": "a_batch_with_one_event_too_large_is_not_stored_at_all",
    "TestForgetsWhatItAnswered": "the_same_batch_again_has_the_first_answer_and_one_copy",
    "TestTakesAnyBlob": "a_blob_that_is_not_what_was_written_is_corrupt",
    "TestWritesAfterTheSeal": "a_sealed_log_is_closed_for_ever",
    "TestFollowsWithAGap": "follow_during_heavy_appends_has_no_gap_and_no_duplicate",
    "TestAlwaysCatchesUp": "follow_says_what_is_there_then_caught_up_then_what_comes",
    "TestShowsWhatItRefuses": "what_is_taken_in_is_checked_to_the_last_byte_first",
    "TestKeepsWhatWasErased": "after_its_audio_a_log_says_what_it_said",
    "TestLooksAtEverybody": "an_append_costs_the_same_among_many_sessions",
    "TestShowsWhatIsNotStored": "a_disk_full_at_any_byte_of_a_batch_leaves_nothing_of_it[no space]",
    "TestRepairsByCutting": "any_damaged_byte_in_the_middle_is_found_and_nothing_is_repaired",
    "TestForgetsTheKilled": "no_acknowledged_event_is_lost_when_the_writer_is_killed[5]",
    "TestLeavesAudioBehind": "erased_audio_is_in_no_file_of_the_store",
    "TestHoldsEverythingOpen": "a_thousand_open_sessions_take_ten_appends_each",
}
"""Of every broken store in mystore.py, the case that must fail."""

Outcomes = dict[str, dict[str, str]]


class Project:
    """A project of its own with a store in it, and what its tests say."""

    def __init__(self, folder: Path, tests: str) -> None:
        self.folder = folder
        shutil.copy(THEIRS / "mystore.py", folder)
        (folder / "test_mystore.py").write_text(tests)

    def run(self, *arguments: str) -> tuple[Outcomes, str]:
        """The outcome of every case by class ("passed", "failed", "skipped"), and what was printed."""
        # Without any other plugin, and with every warning an error.
        options = [
            "-p",
            "no:cacheprovider",
            "-p",
            "no:asyncio",
            "--strict-markers",
            "-W",
            "error",
            "--junitxml=found.xml",
        ]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTEST_ADDOPTS": ""},
            capture_output=True,
            text=True,
        )
        outcomes: Outcomes = {}
        for case in ElementTree.parse(self.folder / "found.xml").iter("testcase"):
            name = case.get("name", "").removeprefix("test_")
            verdict = next((child.tag for child in case), "passed")
            outcomes.setdefault(case.get("classname", "").rpartition(".")[2], {})[name] = verdict
        return outcomes, done.stdout


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcomes, str]:
    project = Project(tmp_path_factory.mktemp("theirs"), (THEIRS / "suite.py").read_text())
    return project.run("-m", "not campaign")


@pytest.mark.parametrize(("store", "case"), FAULTS.items(), ids=FAULTS)
def test_a_broken_store_fails_in_the_case_that_names_its_fault(
    broken: tuple[Outcomes, str], store: str, case: str
) -> None:
    assert broken[0][store][case] == "failure"


def test_a_failed_case_shows_the_values_it_compared(broken: tuple[Outcomes, str]) -> None:
    """Assertions are rewritten in the cases too."""
    assert "assert [0, 1, 3, 2] == [0, 1, 2, 3]" in broken[1]


def _example() -> str:
    """What the package says to write."""
    words = conformance.__doc__ or ""
    return textwrap.dedent(words[words.index("    import pytest") : words.index("That runs")]).strip()


def test_a_store_that_is_right_passes_with_what_the_package_says_to_write(tmp_path: Path) -> None:
    assert len(_example().splitlines()) <= 10
    outcomes, _ = Project(tmp_path, _example()).run()
    (cases,) = outcomes.values()
    assert set(cases.values()) == {"passed", "skipped"}
    assert list(cases.values()).count("passed") >= 25


def test_the_manual_says_the_same() -> None:
    assert _example() in (Path(__file__).parents[2] / "docs" / "reliability.md").read_text("utf-8")


def test_whoever_merely_has_antiphon_installed_loads_nothing_of_it() -> None:
    code = """if True:
        import sys
        import antiphon.events.conformance.plugin
        print([name for name in sys.modules if name.startswith(("antiphon", "msgspec", "hypothesis"))])
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    package = "antiphon.events.conformance"
    assert done.stdout.strip() == str(["antiphon", "antiphon.events", package, f"{package}.plugin"])
