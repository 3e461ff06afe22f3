"""`antiphon log export --as half-duplex`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.replay.half_duplex_calls import two_turns, written

from .logs import one_call, rows, run, store_at


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "data"


def test_a_call_leaves_as_a_folder(data: Path) -> None:
    written(two_turns(), store_at(data))
    result = run("export", "sess_1", "--as", "half-duplex", data=data)
    assert result.stdout == "sess_1: written: sess_1, 2 turns, 6 files\n"
    recording = json.loads(Path("sess_1/recording.json").read_text())
    for turn in recording["turns"]:
        for side in ("input", "output"):
            assert Path("sess_1", turn[side]["audio"]).read_bytes()[:4] == b"RIFF"
    assert os.stat("sess_1").st_mode & 0o777 == 0o700
    again = run("export", "sess_1", "--as", "half-duplex", data=data)
    assert (again.exit_code, "--to" in again.output) == (1, True)
    [told] = rows(run("export", "sess_1", "--as", "half-duplex", "--to", "there", "--json", data=data))
    assert (told["folder"], told["turns"]) == ("there", 2)


def test_what_is_no_call_is_not_made_one(data: Path) -> None:
    one_call(data)
    result = run("export", "sess_call", "--as", "half-duplex", data=data)
    assert (result.exit_code, "not a half-duplex call" in result.output) == (1, True)
    assert run("export", "nobody", "--as", "half-duplex", data=data).exit_code == 1
    assert run("export", "sess_call", "--as", "half-duplex", "--sound", data=data).exit_code == 2
    assert list(Path().iterdir()) == []
