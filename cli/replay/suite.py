"""`antiphon replay suite`: a folder of recorded calls as a regression suite."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Struct

from ..log.store import DIFFERENT, JSON, fail, told
from . import stages

if TYPE_CHECKING:
    from antiphon.replay.rerun.backstage import Backstage
    from antiphon.replay.rerun.comparing import Comparison


class Result(Struct, frozen=True, kw_only=True):
    """Of one call. `failed` says why it did not pass, each reason for itself; empty: it passed."""

    name: str
    turns: int = 0
    decisions: int = 0
    words_changed: float = 0.0
    first_wait_ms: float | None = None
    second_wait_ms: float | None = None
    failed: tuple[str, ...] = ()


class Limits(Struct, frozen=True):
    """What a call may be otherwise and still pass. None: anything."""

    decisions: int | None = 0
    words: float | None = None
    wait_ms: float | None = None

    def broken_by(self, comparison: Comparison) -> tuple[str, ...]:
        found = []
        if self.decisions is not None and comparison.decisions > self.decisions:
            found.append(f"{comparison.decisions} turns were decided otherwise")
        if self.words is not None and comparison.words_changed > self.words:
            found.append(f"{comparison.words_changed:.0%} of the words are others")
        wait_ms = comparison.second_wait_ms
        if self.wait_ms is not None and wait_ms is not None and wait_ms > self.wait_ms:
            found.append(f"answers took {wait_ms:.0f} ms (median)")
        return tuple(found)


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@stages.options
@click.option(
    "--decisions", type=click.IntRange(min=0), default=0, show_default=True, metavar="N",
    help="How many turns of a call may be decided otherwise.",
)  # fmt: skip
@click.option(
    "--words",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="What share of its words may be others (any).",
)
@click.option(
    "--wait", "wait_ms", type=click.FloatRange(min=0), metavar="MS",
    help="How long the median answer may take (any).",
)  # fmt: skip
@click.option(
    "--html", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
    help="Also write a page for each call.",
)  # fmt: skip
@JSON
def suite(
    folder: Path, decisions: int, words: float | None, wait_ms: float | None, html: Path | None,
    as_json: bool, **how: Any,
) -> None:  # fmt: skip
    """Hold every recorded call in FOLDER again (*.antiphon.zip, also in folders below it) and say which are
    not what they were.

    Without --stage the recorded answers are given: then it tests what sessions decide, needs no model and
    takes a moment. With --stage, and --set, as in `antiphon replay rerun`; a stage is loaded once for all.
    Recordings are made with `antiphon log export`.

    Exit codes: 0 all pass, 4 some do not, 1 one could not be held again, or there is none.
    """
    from antiphon.replay import sources
    from antiphon.replay.rerun.backstage import Backstage

    limits = Limits(decisions, words, wait_ms)
    found = sources.recordings(folder)
    if not found:
        fail(f"there are no recordings ({sources.RECORDINGS}) in {folder}")
    chosen, results = stages.chosen(**how), []
    with Backstage() as ours:
        for path in found:
            with nullcontext(ours) if chosen.stage else Backstage() as backstage:
                compared = _held_again(path, chosen, backstage)
            name = str(path.relative_to(folder))
            results.append(_result(name, compared, limits))
            if html is not None:
                _write(name, compared.comparison, stages.named(**how), html)
            if as_json:
                click.echo(msgspec.json.encode(results[-1]).decode())
    if not as_json:
        _show(results)
    if any(result.failed for result in results):
        sys.exit(DIFFERENT)


class Compared(Struct, frozen=True):
    comparison: Any
    aborted: str


def _held_again(path: Path, chosen: stages.Chosen, backstage: Backstage) -> Compared:
    from antiphon.replay import sources
    from antiphon.replay.errors import RecordingError
    from antiphon.replay.rerun.comparing import compare
    from antiphon.replay.turns import course_of

    from .rerun import run

    with told():
        try:
            recorded = sources.of_recording(path)
        except RecordingError as error:
            fail(f"{path}: {error}")
        again = run(recorded, chosen, backstage)
        first = course_of(recorded.session, recorded.log.read(recorded.session))
        second = course_of(again.session, again.log.read(again.session))
        return Compared(compare(first, second), again.aborted)
    raise AssertionError("told() ends the program, or lets it go on")


def _result(name: str, compared: Compared, limits: Limits) -> Result:
    comparison: Comparison = compared.comparison
    stopped = (f"it could not go on: {compared.aborted}",) if compared.aborted else ()
    return Result(
        name=name,
        turns=len(comparison.rows),
        decisions=comparison.decisions,
        words_changed=round(comparison.words_changed, 4),
        first_wait_ms=comparison.first_wait_ms,
        second_wait_ms=comparison.second_wait_ms,
        failed=(*stopped, *limits.broken_by(comparison)),
    )


def _write(name: str, comparison: Comparison, how: str, folder: Path) -> None:
    from .showing import write_page

    folder.mkdir(parents=True, exist_ok=True)
    page = folder / (name.replace("/", "-").removesuffix(".antiphon.zip") + ".html")
    write_page(comparison, page, first="recorded", second=how)


def _show(results: list[Result]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("call", "turns", "decided otherwise", "other words", "wait", "now", ""):
        table.add_column(column, justify="left" if column in ("call", "") else "right", overflow="fold")
    for one in results:
        waits = ["-" if ms is None else f"{ms:.0f} ms" for ms in (one.first_wait_ms, one.second_wait_ms)]
        verdict = f"[red]{'; '.join(one.failed)}[/]" if one.failed else "[green]passed[/]"
        words = f"{one.words_changed:.0%}"
        table.add_row(one.name, str(one.turns), str(one.decisions), words, *waits, verdict)
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    failed = sum(bool(one.failed) for one in results)
    click.echo(f"{len(results) - failed} of {len(results)} passed")
