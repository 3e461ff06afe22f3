"""The options of the moshi stage: a short way to write `[stage.moshi]`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

if TYPE_CHECKING:
    from antiphon.web.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--weights", help="moshi: a folder with the model's files, or its id on the hub."),
    click.option("--random-weights", is_flag=True, default=None, help="moshi: noise, to try the rest with."),
    click.option("--size", help="moshi: nano, moshi, personaplex, or echo for no model (personaplex)."),
    click.option("--batch-size", type=click.IntRange(1), help="moshi: conversations at once (1)."),
)
_NAMES = ("weights", "random_weights", "size", "batch_size")


def options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def taken_out(flags: dict[str, Any]) -> dict[str, Any]:
    """Those of the flags that are of this, out of all of them."""
    return {name: value for name in _NAMES if (value := flags.pop(name)) is not None}


def put_in(settings: Settings, given: dict[str, Any]) -> Settings:
    """Raises ClickException where another stage was asked for."""
    if given and settings.stage != "moshi":
        named = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise click.ClickException(f"{named}: only with --stage moshi")
    stages = {**settings.stages, "moshi": {**settings.stage_settings("moshi"), **given}}
    return msgspec.structs.replace(settings, stages=stages)
