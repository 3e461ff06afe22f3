"""`antiphon`: its commands. Each imports what it needs when it runs."""

from __future__ import annotations

from typing import Any

import click

from antiphon import __version__

from .lazily import Lazily

COMMANDS = {
    "serve": "antiphon.cli.serve:serve",
    "say": "antiphon.cli.say:say",
    "log": "antiphon.cli.log:log",
    "replay": "antiphon.cli.replay:replay",
    "models": "antiphon.cli.models:models",
    "doctor": "antiphon.cli.doctor:doctor",
    "completion": "antiphon.cli.completion:completion",
}


@click.group(cls=Lazily, found=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="antiphon")
def main(**_: Any) -> None:
    """An event-sourced actor server for full-duplex speech models."""
