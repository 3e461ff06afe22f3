"""`antiphon replay rerun`: the same call with something changed, and what came of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antiphon import __version__

from ..log.store import DIFFERENT, JSON, LIFE, complete, fail, told
from . import stages
from .lives import DATA, one_life
from .showing import HTML, print_json, show, write_page

if TYPE_CHECKING:
    from antiphon.replay.rerun.backstage import Backstage
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
    help="Keep the new call as a recording (*.antiphon.zip).",
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
    from antiphon.replay.rerun.backstage import Backstage
    from antiphon.replay.rerun.comparing import compare
    from antiphon.replay.turns import course_of

    with told():
        recorded = one_life(what, data, life)
        with Backstage() as backstage:
            again = run(recorded, stages.chosen(**how), backstage)
        first = course_of(
            recorded.session, recorded.log.read(recorded.session, incarnation=recorded.incarnation)
        )
        comparison = compare(first, course_of(again.session, again.log.read(again.session)))
        if save is not None:
            _save(again, save)
    if html is not None:
        write_page(comparison, html, first="recorded", second=stages.named(**how))
    if as_json:
        print_json(comparison, not_done=again.not_done, aborted=again.aborted)
    else:
        show(comparison, first="recorded", second=stages.named(**how))
        for missing in again.not_done:
            click.echo(f"not done again: {missing}", err=True)
    if again.aborted:
        fail(f"the new call could not go on: {again.aborted}")
    if not comparison.decided_alike:
        sys.exit(DIFFERENT)


def run(recorded: Life, chosen: stages.Chosen, backstage: Backstage) -> Rerun:
    """With a bar on a terminal. Ends the program where it cannot be done."""
    from rich.console import Console
    from rich.progress import Progress

    from antiphon.replay.errors import RecordingError
    from antiphon.replay.rerun.rerun import rerun as hold_again

    hidden = not sys.stderr.isatty()
    with Progress(console=Console(stderr=True), transient=True, disable=hidden) as bar:
        task = bar.add_task(recorded.name, total=1.0)

        def progress(part: float) -> None:
            bar.update(task, completed=part)

        try:
            asked = chosen.asked(recorded, backstage, _say(bar))
            return hold_again(recorded, asked, code=__version__, progress=progress)
        except RecordingError as error:
            fail(str(error))


def _say(bar: Any) -> Callable[[str], None]:
    return lambda text: None if bar.disable else bar.console.print(text, style="dim")


def _save(again: Rerun, file: Path) -> None:
    from antiphon.replay.recording import write

    with file.open("wb") as to:
        write(again.log, again.session, to)
