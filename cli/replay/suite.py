"""`antiphon replay suite`: a folder of recorded calls as a regression suite."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Struct

from ..log.lines import cell
from ..log.store import COULD_NOT, DIFFERENT, JSON, fail, told
from . import stages

if TYPE_CHECKING:
    from antiphon.replay.rerun.comparing import Comparison
    from antiphon.replay.rerun.rerun import Rerun

    Held = tuple[Comparison, Rerun] | Exception
    """A call beside what it was, or why it could not be held again."""


class Result(Struct, frozen=True, kw_only=True):
    """Of one call. `failed` says why it did not pass, each reason for itself; empty: it passed. Without being
    `held` again it did not."""

    name: str
    held: bool = True
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
    limits, results = Limits(decisions, words, wait_ms), []
    with told():
        for name, held in _held(folder, stages.chosen(**how), quiet=as_json):
            results.append(_result(name, held, limits))
            if html is not None and not isinstance(held, Exception):
                _write(name, held[0], stages.named(**how), html)
            if as_json:
                click.echo(msgspec.json.encode(results[-1]).decode())
    if not as_json:
        _show(results)
    if not all(result.held for result in results):
        sys.exit(COULD_NOT)
    if any(result.failed for result in results):
        sys.exit(DIFFERENT)


def _held(folder: Path, chosen: stages.Chosen, *, quiet: bool) -> Iterator[tuple[str, Held]]:
    """Every call by its name, as it is held again. What is wrong with one of them is no end of the others."""
    from antiphon.events.errors import LogError
    from antiphon.replay import sources
    from antiphon.replay.errors import RecordingError
    from antiphon.replay.rerun.backstage import Backstage

    from .rerun import held_again

    found = sources.recordings(folder)
    if not found:
        fail(f"there are no recordings ({sources.RECORDINGS}) in {folder}")
    with Backstage() as backstage:
        for path in found:
            held: Held
            try:
                held = held_again(sources.of_recording(path), chosen, backstage, quiet=quiet)
            except (LogError, RecordingError, OSError) as error:
                held = error
            yield str(path.relative_to(folder)), held


def _result(name: str, held: Held, limits: Limits) -> Result:
    if isinstance(held, Exception):
        return Result(name=name, held=False, failed=(str(held),))
    comparison, again = held
    stopped = (f"it could not go on: {again.aborted}",) if again.aborted else ()
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
        verdict = cell("; ".join(one.failed), "red") if one.failed else cell("passed", "green")
        words = f"{one.words_changed:.0%}"
        table.add_row(cell(one.name), str(one.turns), str(one.decisions), words, *waits, verdict)
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    failed = sum(bool(one.failed) for one in results)
    click.echo(f"{len(results) - failed} of {len(results)} passed")
