"""`antiphon`: its commands. Each imports what it needs when it runs."""

from __future__ import annotations

import importlib
from typing import Any

import click

from antiphon import __version__

COMMANDS = {
    "serve": "antiphon.cli.serve:serve",
    "say": "antiphon.cli.say:say",
    "log": "antiphon.cli.log:log",
    "replay": "antiphon.cli.replay:replay",
    "doctor": "antiphon.cli.doctor:doctor",
    "completion": "antiphon.cli.completion:completion",
}


class Lazy(click.Group):
    """Finds its commands by name and imports only the one that runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        path = COMMANDS.get(cmd_name)
        if path is None:
            return None
        module, _, name = path.partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="antiphon")
def main(**_: Any) -> None:
    """An event-sourced actor server for full-duplex speech models."""
