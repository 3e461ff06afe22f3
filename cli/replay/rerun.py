"""`antiphon replay rerun`: the same call with something changed, and what came of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from antiphon import __version__

from ..log.lines import printable
from ..log.progress import bar
from ..log.store import DIFFERENT, JSON, LIFE, complete, fail, told
from ..log.travel import new_file
from . import stages
from .lives import DATA, one_life
from .showing import HTML, print_json, show, write_page

if TYPE_CHECKING:
    from rich.progress import Progress

    from antiphon.replay.rerun.backstage import Backstage
    from antiphon.replay.rerun.comparing import Comparison
    from antiphon.replay.rerun.rerun import Rerun
    from antiphon.replay.sources import Life


@click.command()
@click.argument("what", metavar="SESSION|RECORDING", shell_complete=complete)
@DATA
@LIFE
@stages.options
@HTML
@click.option(
    "--save",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Keep the new call as a recording (*.antiphon.zip). FILE must not exist.",
)
@JSON
def rerun(
    what: str, data: Path, life: int | None, html: Path | None, save: Path | None, as_json: bool, **how: Any
) -> None:
    """Hold a recorded call again with something changed, and compare: decisions, words, timing.

    Without --stage the recorded answers are given as they were, when they were; nothing is loaded and no
    audio is read. So `--set turn_detection.threshold=0.7` shows what another threshold would have decided.
    With --stage the call's audio goes to that stage (its settings: --config, --set stage.NAME=VALUE).

    --set NAME=VALUE changes the session's configuration: instructions, voice, temperature,
    max_output_tokens, turn_detection.threshold, turn_detection.silence_duration_ms, overlap.policy, ...

    Exit codes: 0 everything was decided alike, 4 something was not, 1 it could not be done.
    """
    from antiphon.replay.recording import write
    from antiphon.replay.rerun.backstage import Backstage

    names = {"first": "recorded", "second": stages.named(**how)}
    with told():
        recorded = one_life(what, data, life)
        with Backstage() as backstage, _kept(save) as file:
            comparison, again = held_again(recorded, stages.chosen(**how), backstage, quiet=as_json)
            if file is not None:
                write(again.life.log, again.life.session, file)
        if html is not None:
            write_page(comparison, html, **names)
    if as_json:
        print_json(comparison, not_done=again.not_done, aborted=again.aborted)
    else:
        show(comparison, **names)
        for missing in again.not_done:
            click.echo(f"not done again: {missing}", err=True)
    if again.aborted:
        fail(f"the new call could not go on: {again.aborted}")
    if not comparison.decided_alike:
        sys.exit(DIFFERENT)


def _kept(save: Path | None) -> AbstractContextManager[IO[bytes] | None]:
    """Where the new call is kept, if it is to be. Ends the program at once where it cannot be."""
    return nullcontext() if save is None else new_file(save, option="--save")


def held_again(
    life: Life, chosen: stages.Chosen, backstage: Backstage, *, quiet: bool
) -> tuple[Comparison, Rerun]:
    """The call as it was beside the call as it is now. With a bar on a terminal, unless `quiet`.

    Raises CannotRerun, LogError; ends the program where a stage is not to be had.
    """
    from antiphon.replay.rerun.comparing import compare
    from antiphon.replay.rerun.rerun import rerun as hold_again
    from antiphon.replay.turns import course_of

    with bar(quiet=quiet) as shown:
        task = shown.add_task(printable(life.name), total=1.0)
        changes = chosen.changes(life, backstage, _say(shown))
        again = hold_again(
            life, changes, code=__version__, progress=lambda part: shown.update(task, completed=part)
        )
    return compare(course_of(life), course_of(again.life)), again


def _say(shown: Progress) -> Callable[[str], None]:
    return lambda text: None if shown.disable else shown.console.print(text, style="dim", markup=False)
