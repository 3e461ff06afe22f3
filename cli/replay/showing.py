"""A comparison for people and for programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..log.lines import cell
from ..log.travel import whole_file

if TYPE_CHECKING:
    from rich.text import Text

    from antiphon.replay.rerun.comparing import Comparison, Row
    from antiphon.replay.turns import Turn

HTML = click.option(
    "--html",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Also write both, side by side, as a page.",
)


def write_page(comparison: Comparison, file: Path, *, first: str, second: str) -> None:
    """In the place of one that is there. Ends the program where it cannot be written; raises OSError."""
    from antiphon.replay.rerun.page import page

    with whole_file(file) as to:
        to.write(page(comparison, first=first, second=second).encode())


def print_json(comparison: Comparison, **more: Any) -> None:
    import msgspec

    facts = msgspec.to_builtins(comparison) | {"decided_alike": comparison.decided_alike} | more
    click.echo(msgspec.json.encode(facts).decode())


def show(comparison: Comparison, *, first: str, second: str) -> None:
    """As a table, and a sentence."""
    from rich.console import Console
    from rich.table import Table

    from antiphon.replay.rerun.page import summary

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("at", justify="right", no_wrap=True)
    table.add_column("who", no_wrap=True)
    table.add_column(cell(first), ratio=1)
    table.add_column(cell(second), ratio=1)
    table.add_column("changed", no_wrap=True)
    for row in comparison.rows:
        table.add_row(*_cells(row))
    Console(width=None if sys.stdout.isatty() else 120).print(table)
    click.echo(summary(comparison))


def _cells(row: Row) -> list[str | Text]:
    turn = row.first or row.second
    assert turn is not None, "a row is of one course at least"
    sides = [_side(row.first), _side(row.second)]
    return [f"{turn.at_ms / 1000:.2f} s", turn.who, *sides, cell(", ".join(row.changed), "yellow")]


def _side(turn: Turn | None) -> Text:
    from antiphon.replay.rerun.page import told_of

    if turn is None:
        return cell("-", "dim")
    return cell(turn.words or "…").append("\n").append_text(cell(told_of(turn), "dim"))
