"""Groups of commands of which only the one that runs is imported: each import takes its time."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class Lazily(click.Group):
    """`found` says where each command is: `module:name`, by the command's name, in the order of the help."""

    def __init__(self, *args: Any, found: Mapping[str, str], **more: Any) -> None:
        super().__init__(*args, **more)
        self._found = found

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._found)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        path = self._found.get(cmd_name)
        if path is None:
            return None
        module, _, name = path.partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command
