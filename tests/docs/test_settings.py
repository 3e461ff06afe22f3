"""docs/settings.md names every setting and every variable, with what they usually are; and no other."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from antiphon.actors.stages.minicpmo.options import read_settings
from antiphon.actors.stages.vllm_streaming.options import VllmSettings
from antiphon.cli import joyvl
from antiphon.web import settings
from antiphon.web.duplex_session import DuplexSession
from antiphon.web.joyvl.settings import JoyVL

ROOT = Path(__file__).resolve().parents[2]
DOCS = (ROOT / "docs" / "settings.md").read_text("utf-8")
ROOMS = ("actors", "cli", "clients", "events", "examples", "media", "projections", "replay", "web")
INTERNAL = {"ANTIPHON_FORKS_FD", "ANTIPHON_VLLM_OWNER"}
"""What one process of the server tells another."""
STAGES = {
    "cascade": ("cascade/settings.py", "CascadeSettings"),
    "chat": ("chat_backend/engine.py", "ChatSettings"),
    "echo": ("echo/engine.py", "EchoSettings"),
    "minicpmo": ("minicpmo/options.py", "MiniCpmOSettings"),
    "minicpmo.vllm": ("vllm_streaming/options.py", "VllmSettings"),
    "moshi": ("moshi/settings.py", "MoshiSettings"),
    "vad": ("vad/engine.py", "VadSettings"),
    "scripted": ("scripted/engine.py", "ScriptedSettings"),
}


def rows(heading: str) -> list[list[str]]:
    section = DOCS.split(f"\n## {heading}", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def told(cell: str) -> str:
    return cell.split(",")[0].strip("`")


def usually(value: Any) -> str:
    """As it would stand in a table."""
    if value in ("", (), msgspec.NODEFAULT, None):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def test_every_setting_of_the_server_is_described_with_its_variable() -> None:
    described = {told(row[0]): (told(row[1]), told(row[2])) for row in rows("The server")}
    assert described.pop("keys_file") == ("", "")
    described["stage"] = described.pop("use")
    variables = {name: variable for variable, name in settings._ENVIRONMENT.items()}
    fields = {field.name: field.default for field in msgspec.structs.fields(settings.Settings)}
    del fields["stages"], fields["duplex_session"], fields["joyvl"]
    assert described == {name: (variables[name], usually(value)) for name, value in fields.items()}


def test_every_limit_of_a_session_is_described() -> None:
    described = {told(row[0]): told(row[1]) for row in rows("Sessions")}
    limits = {field.name: usually(field.default) for field in msgspec.structs.fields(DuplexSession)}
    assert described == limits


def test_every_setting_of_watchers_is_described_with_its_option() -> None:
    page = (ROOT / "docs" / "joyvl.md").read_text("utf-8")
    lines = [line for line in page.split("## Settings", 1)[1].splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    described = {told(row[0]): told(row[2]) for row in cells}
    assert described == {field.name: usually(field.default) for field in msgspec.structs.fields(JoyVL)}
    options = {option.strip("-").replace("-", "_") for option in re.findall(r"`(--[a-z-]+)`", page)}
    assert options <= {*joyvl.NAMES, "config", "port"}


def test_what_the_page_about_sessions_shows_is_what_holds_without_it() -> None:
    page = (ROOT / "docs" / "sessions.md").read_text("utf-8")
    [shown] = re.findall(r"```toml\n(.*?)```", page, re.S)
    assert msgspec.convert(tomllib.loads(shown)["duplex_session"], DuplexSession) == DuplexSession()


def _default(said: ast.expr | None) -> str:
    """A table of its own is usually empty."""
    if isinstance(said, ast.Call):
        return "{}"
    return usually(None if said is None else ast.literal_eval(said))


def test_what_the_page_about_vllm_shows_is_what_holds_without_it() -> None:
    page = (ROOT / "docs" / "vllm.md").read_text("utf-8")
    [shown] = re.findall(r"```toml\n(.*?)```", page, re.S)
    chosen = read_settings({"model": "m", **tomllib.loads(shown)["stage"]["minicpmo"]})
    assert (chosen.thinker, chosen.vllm) == ("vllm", VllmSettings())
    named = set(re.findall(r"^(?:# )?(\w+) =", shown.split("vllm]")[1], re.M))
    assert named == set(VllmSettings.__struct_fields__)


@pytest.mark.parametrize("stage", STAGES)
def test_every_setting_of_a_stage_is_described(stage: str) -> None:
    """Read off the source: some engines cannot be imported without what they run on."""
    path, name = STAGES[stage]
    module = ast.parse((ROOT / "actors" / "stages" / path).read_text("utf-8"))
    [made] = [node for node in module.body if isinstance(node, ast.ClassDef) and node.name == name]
    known = {
        line.target.id: _default(line.value)
        for line in made.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    }
    described = {told(row[1]): row[2].strip("`") for row in rows("Stages") if told(row[0]) == stage}
    assert described == known


def test_every_variable_is_described() -> None:
    source = "\n".join(path.read_text("utf-8") for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    read = set(re.findall(r"(?<!_)ANTIPHON_[A-Z_]*[A-Z]", source)) - INTERNAL
    assert set(re.findall(r"`(ANTIPHON_[A-Z_]+)`", DOCS)) == read
