"""Long work shows how far it is: on a terminal, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from .logs import one_call, run
from .terminals import on_a_terminal

BAR = "━"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    one_call(tmp_path / "data", "sess_one")
    one_call(tmp_path / "data", "sess_two")
    return tmp_path / "data"


@pytest.mark.parametrize(
    "command",
    [
        ("log", "verify"),
        ("log", "stats"),
        ("log", "diff", "sess_one", "sess_two"),
        ("log", "export", "sess_one", "--sound", "--to", "made.antiphon.zip"),
        ("replay", "verify"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_a_bar_is_shown_on_a_terminal_only(
    data: Path, command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "made.antiphon.zip"
    code, told = on_a_terminal(*command, "--data", data)
    assert code == 0, told
    assert BAR in told
    for more, piped in ((("--json",), False), ((), True)):
        made.unlink(missing_ok=True)
        code, told = on_a_terminal(*command, *more, "--data", data, piped=piped)
        assert code == 0, told
        assert BAR not in told


def test_taking_in_shows_how_far_it_is(data: Path, tmp_path: Path) -> None:
    made = tmp_path / "made.antiphon.zip"
    assert run("export", "sess_one", "--to", made, data=data).exit_code == 0
    code, told = on_a_terminal("log", "import", made, "--data", tmp_path / "other")
    assert code == 0, told
    assert BAR in told
