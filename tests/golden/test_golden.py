"""What was recorded stays readable, means what it meant, and shows clients what they were shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.events import vocabulary
from antiphon.events.verify import verify as verify_log
from antiphon.replay import sources
from antiphon.replay.verify import verify as verify_frames

from .corpus import GOLDEN, means, meant, recordings, stored
from .scenes import SCENES
from .states import Meaning, changed

VERSIONS = {kind.__name__: kind.version for kind in vocabulary.EVENT_TYPES}


def name(path: Path) -> str:
    return str(path.relative_to(GOLDEN)).removesuffix(".antiphon.zip")


def test_there_are_recordings_of_every_version() -> None:
    changelog = (GOLDEN.parent / "CHANGELOG.md").read_text("utf-8")
    released = [line.split()[1] for line in changelog.splitlines() if line.startswith("## ")]
    assert {path.parent.name for path in recordings()} >= {one for one in released if one[0].isdigit()}


@pytest.mark.parametrize("path", recordings(), ids=name)
def test_a_recording_is_sound(path: Path) -> None:
    life = sources.of_recording(path)
    report = verify_log(life.log, life.session, incarnation=life.incarnation)
    assert report.sound, report.findings
    assert report.unknown == 0
    assert report.events == len(stored(path))


@pytest.mark.parametrize("path", recordings(), ids=name)
def test_clients_would_be_sent_the_same_again(path: Path) -> None:
    life = sources.of_recording(path)
    verdict = verify_frames(life.log, life.session, incarnation=life.incarnation)
    assert verdict.same, verdict


@pytest.mark.parametrize("path", recordings(), ids=name)
def test_no_event_has_come_to_mean_something_else(path: Path) -> None:
    """An event that folds differently needs a higher version and an upcast from the one before."""
    differs = changed(meant(path), means(path))
    assert differs is None, (
        f"{differs.type} version {differs.version} leaves another state than it did. If it means something else"
        " now, raise its version; then, or if only the state's shape is new: python -m tests.golden.corpus --states"
    )


def test_the_scenes_hold_every_event_there_is() -> None:
    acted = {type(event).__name__ for scene in SCENES for event in scene().events}
    assert acted == VERSIONS.keys()


def test_every_event_there_is_has_been_recorded() -> None:
    recorded = {meaning.type for path in recordings() for meaning in meant(path)}
    assert recorded >= VERSIONS.keys()


def test_a_fold_that_changes_without_its_version_is_noticed() -> None:
    then = [
        Meaning("SessionOpened", 1, "a"),
        Meaning("InputAppended", 1, "b"),
        Meaning("InputCleared", 1, "c"),
    ]
    now = [
        Meaning("SessionOpened", 1, "a"),
        Meaning("InputAppended", 1, "x"),
        Meaning("InputCleared", 1, "y"),
    ]
    assert changed(then, then) is None
    assert changed(then, now) == now[1]
