"""`antiphon replay compare`: two recorded calls, turn by turn."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ..log.store import DIFFERENT, JSON, complete, told
from .lives import DATA, one_life
from .showing import HTML, print_json, show, write_page


@click.command()
@click.argument("first", metavar="SESSION|RECORDING", shell_complete=complete)
@click.argument("second", metavar="SESSION|RECORDING", shell_complete=complete)
@DATA
@HTML
@JSON
def compare(first: str, second: str, data: Path, html: Path | None, as_json: bool) -> None:
    """Show two calls side by side: what was decided, what was said, how long it took.

    Spoken turns belong together where they are partly the same stretch of input, as in calls that were played
    again. `antiphon log diff` compares event by event.

    Exit codes: 0 everything was decided alike, 4 something was not, 1 it could not be done.
    """
    from antiphon.replay.rerun.comparing import compare as side_by_side
    from antiphon.replay.turns import course_of

    with told():
        lives = [one_life(named, data, None) for named in (first, second)]
        comparison = side_by_side(*map(course_of, lives))
        if html is not None:
            write_page(comparison, html, first=lives[0].name, second=lives[1].name)
    if as_json:
        print_json(comparison)
    else:
        show(comparison, first=lives[0].name, second=lives[1].name)
    if not comparison.decided_alike:
        sys.exit(DIFFERENT)
