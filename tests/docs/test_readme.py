"""What the README says can be done, done as it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import wave
from pathlib import Path

import pytest

from antiphon.cli.main import COMMANDS, main
from tests.serving import running

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def test_the_sdk_example_runs_as_it_stands(tmp_path: Path) -> None:
    """All but the port, which a test does not choose."""
    code = blocks("python")[0]
    with running(tmp_path / "data", stage="scripted") as server:
        program = code.replace("127.0.0.1:8765", f"127.0.0.1:{server.port}")
        assert program != code
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    assert done.stdout == "This is a scripted answer."
    with wave.open(str(tmp_path / "hello.wav"), "rb") as answer:
        assert answer.getframerate() == 24_000
        assert answer.getnframes() == 24_000


def test_the_example_file_is_the_readmes() -> None:
    code = blocks("python")[0]
    assert (ROOT / "examples" / "openai_sdk.py").read_text("utf-8").endswith(code)


def test_every_make_target_that_is_named_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    prose = README + (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = set(re.findall(r"(?:^|`)make ([a-z][a-z-]+)", prose, re.M))
    assert named
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_every_command_of_the_line_is_in_the_readme() -> None:
    for command in COMMANDS:
        assert f"antiphon {command}" in README, command
    assert main.get_command(None, "serve") is not None  # type: ignore[arg-type]  # needs no context


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_every_link_leads_somewhere(link: str) -> None:
    assert (ROOT / link).exists()
