"""`antiphon completion`: what a shell needs to complete commands, options and the ids of sessions."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

NAME = "antiphon"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script that completes commands, options and session ids.

    bash: eval "$(antiphon completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc;
    fish: antiphon completion fish > ~/.config/fish/completions/antiphon.fish
    """
    from antiphon.cli.main import main

    found = get_completion_class(shell)
    if found is None:
        raise click.ClickException(f"there is no completion for {shell}")
    click.echo(found(main, {}, NAME, "_ANTIPHON_COMPLETE").source())
