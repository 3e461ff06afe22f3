"""`antiphon models`: models to try things with."""

from __future__ import annotations

from pathlib import Path

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def models() -> None:
    """Make models to try things with."""


@models.command("make-tiny")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Another seed, another model."
)
def make_tiny(folder: Path, seed: int) -> None:
    """Make a tiny MiniCPM-o in DIR: the files of a checkpoint with random weights. It talks gibberish."""
    try:
        from antiphon.actors.stages.minicpmo import tiny
    except ModuleNotFoundError as missing:
        raise click.ClickException(f"this needs the module {missing.name}: `make minicpmo`") from missing
    tiny.make_tiny(folder, seed)
    click.echo(f"{folder}: a MiniCPM-o of {_millions(folder)} million random weights")
    click.echo(f"antiphon serve --stage minicpmo --model {folder}")


def _millions(folder: Path) -> str:
    bytes_each = 4
    return f"{(folder / 'model.safetensors').stat().st_size / bytes_each / 1e6:.1f}"
