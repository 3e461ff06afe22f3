"""docs/logs.md and docs/replay.md speak of commands and options that are there, and of all of them; the tutorial
of some."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from antiphon.cli.log import log
from antiphon.cli.replay import replay
from antiphon.cli.serve import serve
from antiphon.web.settings import load

DOCS, REPLAY_DOCS, TUTORIAL = (
    (Path(__file__).resolve().parents[2] / "docs" / f"{name}.md").read_text("utf-8")
    for name in ("logs", "replay", "tutorial")
)
GROUPS = {"log": (log, DOCS), "replay": (replay, REPLAY_DOCS)}
NAMES = [(group, name) for group, (of, _) in GROUPS.items() for name in of.list_commands(click.Context(of))]
RETENTION = ("--keep-audio", "--keep-events", "--max-data", "--no-audio-log", "--min-free")


@pytest.mark.parametrize(("group", "name"), NAMES)
def test_every_command_is_described(group: str, name: str) -> None:
    _, docs = GROUPS[group]
    assert re.search(rf"(`|\$ )antiphon {group} {name}\b", docs), name


@pytest.mark.parametrize("docs", [DOCS, REPLAY_DOCS, TUTORIAL], ids=["logs", "replay", "tutorial"])
@pytest.mark.parametrize("group", GROUPS)
def test_what_is_described_is_there(group: str, docs: str) -> None:
    commands, _ = GROUPS[group]
    context = click.Context(commands)
    named = set(re.findall(rf"antiphon {group} ([a-z]+)", docs))
    assert named <= set(commands.list_commands(context))
    for name, options in re.findall(rf"(?:\$ |bin/)antiphon {group} ([a-z]+)((?: (?!--data)\S+)*)", docs):
        command = commands.get_command(context, name)
        assert command is not None
        known = {option for one in command.params for option in one.opts}
        assert {one for one in options.split() if one.startswith("--")} <= known, name


def test_the_settings_of_the_table_are_flags_variables_and_names_of_the_file(tmp_path: Path) -> None:
    flags = {option for one in serve.params for option in one.opts}
    for flag in RETENTION:
        [row] = [line for line in DOCS.splitlines() if line.startswith(f"| `{flag}")]
        _, _, variable, in_file, *_ = (cell.strip().strip("`") for cell in row.split("|"))
        config = tmp_path / "antiphon.toml"
        config.write_text(in_file)
        name, _, value = variable.partition("=")
        given = value or in_file.split('"')[1]
        assert flag in flags
        assert (
            load(config, {}) == load(environment={name: given}) != load(environment={})
            or flag == "--min-free"
        )


def test_help_ends_where_it_says() -> None:
    assert isinstance(log, click.Group)
    for code in ("0", "1", "2", "3", "130"):
        assert re.search(rf"^\| {code} \|", DOCS, re.M), code
