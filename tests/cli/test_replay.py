"""`antiphon replay verify` by its exit codes and what it prints."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from antiphon.cli.main import main
from antiphon.events.envelope import Draft
from antiphon.events.ids import Seq, SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect, Scope
from antiphon.events.vocabulary import AudioSpoken, TextSpoken
from antiphon.replay import sources
from antiphon.replay.intake import take_in
from tests.golden.corpus import GOLDEN

from .logs import damage

RECORDING = GOLDEN / "0.2.0" / "scripted.antiphon.zip"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["replay", "verify", *map(str, arguments)])


@pytest.fixture
def store(tmp_path: Path) -> SegmentLog:
    return SegmentLog(tmp_path / "data", deliver=lambda call: call())


def keep(store: SegmentLog, words: str | None = None) -> str:
    """The recorded call as a session of the store, maybe with other words."""
    life = sources.of_recording(RECORDING)
    if words is None:
        with RECORDING.open("rb") as file:
            return take_in(store, file).session
    lease, _ = store.open(life.session, expect=Expect.NEW, owner="test")
    for one in life.log.read(life.session):
        event = (
            TextSpoken(**{**_members(one.event), "text": words})
            if isinstance(one.event, TextSpoken)
            else one.event
        )
        payload = None if one.blob is None else life.log.read_blob(life.session, one.blob)
        store.append(lease, Seq(one.seq), [Draft(event, one.at, payload, one.cause)]).result()
    store.release(lease)
    return life.session


def _members(event: TextSpoken) -> dict[str, object]:
    return {name: getattr(event, name) for name in event.__struct_fields__}


def test_every_kept_recording_is_the_same() -> None:
    result = run(GOLDEN)
    assert result.exit_code == 0, result.output
    assert "same bytes" in result.output or "same meaning" in result.output  # of an earlier version
    assert "nothing to compare" in result.output  # what 0.1.0 recorded had no digests


def test_a_session_of_a_store_is_named_by_its_id(store: SegmentLog, tmp_path: Path) -> None:
    session = keep(store)
    result = run(session, "--data", tmp_path / "data", "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.output)
    assert (told["session"], told["same"], told["difference"]) == (session, True, None)
    assert told["frames"] > 50


def test_all_of_a_store_is_verified_when_nothing_is_named(store: SegmentLog, tmp_path: Path) -> None:
    session = keep(store)
    assert session in run("--data", tmp_path / "data").output


def test_a_difference_is_shown_and_is_exit_code_4(store: SegmentLog, tmp_path: Path) -> None:
    session = keep(store, words="Not what was said.")
    result = run(session, "--data", tmp_path / "data")
    assert result.exit_code == 4
    assert "DIFFERENT: meaning" in result.output
    assert "Not what was said." in result.output


def test_audio_is_read_where_it_is_asked_for_and_must_be_what_was_sent(
    store: SegmentLog, tmp_path: Path
) -> None:
    session, data = keep(store), tmp_path / "data"
    told = json.loads(run(session, "--data", data, "--audio", "--json").output)
    assert told["audio_s"] == pytest.approx(2.0, abs=1.5)
    spoken = next(one for one in store.read(SessionId(session)) if isinstance(one.event, AudioSpoken))
    (audio,) = data.rglob("audio.blob")
    assert spoken.blob is not None
    damage(audio, spoken.blob.offset + 100)
    assert run(session, "--data", data).exit_code == 0
    assert run(session, "--data", data, "--audio").exit_code == 3


def test_erased_audio_is_said_and_is_no_difference(store: SegmentLog, tmp_path: Path) -> None:
    session = keep(store)
    store.erase(SessionId(session), Scope.AUDIO)
    result = run(session, "--data", tmp_path / "data", "--audio")
    assert result.exit_code == 0, result.output
    assert "audio erased" in result.output


def test_damage_is_exit_code_3_and_hides_nothing_else(store: SegmentLog, tmp_path: Path) -> None:
    keep(store)
    folder = tmp_path / "recordings"
    folder.mkdir()
    shutil.copy(RECORDING, folder / "good.antiphon.zip")
    (events,) = (tmp_path / "data").rglob("events.log")
    events.chmod(0o600)
    broken = bytearray(events.read_bytes())
    broken[len(broken) // 2] ^= 1
    events.write_bytes(broken)
    result = run(tmp_path / "data", folder)
    assert result.exit_code == 3
    assert "damaged" in result.output
    assert "good.antiphon.zip" in result.output


@pytest.mark.parametrize("missing", ["nobody", "no.antiphon.zip"])
def test_what_is_not_there_is_exit_code_1(store: SegmentLog, tmp_path: Path, missing: str) -> None:
    result = run(missing, "--data", tmp_path / "data")
    assert result.exit_code == 1
    assert missing in result.output


def test_a_file_that_is_no_recording_is_exit_code_1(tmp_path: Path) -> None:
    (tmp_path / "x.antiphon.zip").write_bytes(b"not a zip")
    result = run(tmp_path / "x.antiphon.zip")
    assert result.exit_code == 1
    assert "x.antiphon.zip" in result.output
