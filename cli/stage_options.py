"""Options of `antiphon serve` that are a short way to write one stage's `[stage.NAME]`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

if TYPE_CHECKING:
    from antiphon.web.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])


class StageOptions:
    """`options`: what click is told of each, by the setting that it is."""

    def __init__(self, stage: str, **options: dict[str, Any]) -> None:
        self._stage, self._options = stage, options

    def add(self, command: F) -> F:
        for name, told in reversed(self._options.items()):
            told = {"default": None, **told, "help": f"{self._stage}: {told['help']}"}
            command = click.option(f"--{name.replace('_', '-')}", **told)(command)
        return command

    def taken_out(self, flags: dict[str, Any]) -> dict[str, Any]:
        """Those of the flags that are of this stage, out of all of them."""
        return {name: value for name in self._options if (value := flags.pop(name)) is not None}

    def put_in(self, settings: Settings, given: dict[str, Any]) -> Settings:
        """Raises ClickException where another stage was asked for."""
        if given and settings.stage != self._stage:
            named = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise click.ClickException(f"{named}: only with --stage {self._stage}")
        stages = {**settings.stages, self._stage: {**settings.stage_settings(self._stage), **given}}
        return msgspec.structs.replace(settings, stages=stages)
