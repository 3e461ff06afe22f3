"""`antiphon log diff`: where two sessions went different ways."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import lines
from .store import DATA, DIFFERENT, JSON, complete, open_store, told

if TYPE_CHECKING:
    from antiphon.events.envelope import Stored
    from antiphon.replay.differing import Line

CONTEXT = 2
"""Events in both logs that are shown before and behind those that are not."""


@click.command("diff")
@click.argument("first", shell_complete=complete)
@click.argument("second", shell_complete=complete)
@DATA
@click.option(
    "--to-data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Where the second one is kept, if that is elsewhere.",
)
@JSON
@click.option("--all", "everything", is_flag=True, help="Also the events that come many times a second.")
def diff(first: str, second: str, data: Path, to_data: Path | None, as_json: bool, everything: bool) -> None:
    """Compare two sessions by what their events mean: not by their moments, nor by what things are called.

    Exit code 4 where they differ.
    """
    from antiphon.replay.differing import compared

    one = _events(data, first, everything=everything)
    other = _events(to_data or data, second, everything=everything)
    found = list(compared(one, other))
    same = sum(line.where == "both" for line in found)
    for text in _as_json(found) if as_json else _for_people(found, one, other):
        click.echo(text)
    alone = f"{len(one) - same} only in {first}, {len(other) - same} only in {second}"
    click.echo(f"{same} events are the same, {alone}", err=True)
    if same < max(len(one), len(other)):
        sys.exit(DIFFERENT)


def _events(data: Path, session: str, *, everything: bool) -> list[Stored]:
    from antiphon.events.ids import SessionId

    with told():
        events = open_store(data).read(SessionId(session))
        return [stored for stored in events if everything or not lines.is_quiet(stored)]
    raise AssertionError("told() ends the program, or lets it go on")


def _as_json(found: Sequence[Line]) -> Iterator[bytes]:
    """Those that are not in both."""
    import msgspec

    from antiphon.replay.lines import as_json

    for line in found:
        stored = line.first or line.second
        if line.where != "both" and stored is not None:
            yield msgspec.json.encode({"only_in": line.where, "event": msgspec.Raw(as_json(stored))})


def _for_people(found: Sequence[Line], one: Sequence[Stored], other: Sequence[Stored]) -> Iterator[str]:
    began = [events[0].at.mono_ns if events else 0 for events in (one, other)]
    near = _near(found)
    skipped = False
    for number, line in enumerate(found):
        if number not in near:
            skipped = True
            continue
        if skipped:
            yield click.style("...", dim=True)
            skipped = False
        yield _line(line, began)


def _near(found: Sequence[Line]) -> set[int]:
    different = [number for number, line in enumerate(found) if line.where != "both"]
    return {near for number in different for near in range(number - CONTEXT, number + CONTEXT + 1)}


def _line(line: Line, began: Sequence[int]) -> str:
    if line.first is not None:
        text = lines.as_line(line.first, (line.first.at.mono_ns - began[0]) / 1e9)
        return f"  {text}" if line.where == "both" else click.style("- ", fg="red") + text
    assert line.second is not None, "an event is in one of both logs"
    return click.style("+ ", fg="green") + lines.as_line(
        line.second, (line.second.at.mono_ns - began[1]) / 1e9
    )
