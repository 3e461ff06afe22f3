"""`antiphon log diff`: where two sessions went different ways."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from . import lines
from .lives import chosen
from .progress import Looking, bytes_of
from .store import DATA, DIFFERENT, JSON, complete, open_store, told

if TYPE_CHECKING:
    from antiphon.events.envelope import Stored
    from antiphon.events.segments.log import SegmentLog
    from antiphon.events.store import Holding
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

    with told():
        sides = [_latest(data, first), _latest(to_data or data, second)]
        with Looking(sum(bytes_of(life) for _, life in sides), quiet=as_json) as looking:
            one, other = (_look(store, life, looking, everything=everything) for store, life in sides)
    found = list(compared(one.events, other.events))
    same = sum(line.where == "both" for line in found)
    for text in _as_json(found) if as_json else _for_people(found, one, other):
        click.echo(text)
    alone = f"{len(one.events) - same} only in {first}, {len(other.events) - same} only in {second}"
    click.echo(f"{same} events are the same, {alone}", err=True)
    if same < max(len(one.events), len(other.events)):
        sys.exit(DIFFERENT)


class _Side(Struct, frozen=True):
    """The events of one log that are compared. `seconds`: by seq, how long after its first each happened."""

    events: list[Stored]
    seconds: dict[int, float]

    def line(self, stored: Stored) -> str:
        return lines.as_line(stored, self.seconds[stored.seq])


def _latest(data: Path, session: str) -> tuple[SegmentLog, Holding]:
    store = open_store(data)
    return store, chosen(store, session, None)[-1]


def _look(store: SegmentLog, life: Holding, looking: Looking, *, everything: bool) -> _Side:
    from antiphon.replay.timeline import Elapsed

    looking.at(life)
    elapsed, side = Elapsed(), _Side([], {})
    for stored in looking.watched(store.read(life.session, incarnation=life.incarnation)):
        seconds = elapsed.seconds(stored)
        if everything or not lines.is_quiet(stored):
            side.events.append(stored)
            side.seconds[stored.seq] = seconds
    return side


def _as_json(found: Sequence[Line]) -> Iterator[bytes]:
    """Those that are not in both."""
    import msgspec

    from antiphon.replay.lines import as_json

    for line in found:
        stored = line.first or line.second
        if line.where != "both" and stored is not None:
            yield msgspec.json.encode({"only_in": line.where, "event": msgspec.Raw(as_json(stored))})


def _for_people(found: Sequence[Line], one: _Side, other: _Side) -> Iterator[str]:
    near = _near(found)
    skipped = False
    for number, line in enumerate(found):
        if number not in near:
            skipped = True
            continue
        if skipped:
            yield click.style("...", dim=True)
            skipped = False
        yield _line(line, one, other)


def _near(found: Sequence[Line]) -> set[int]:
    different = [number for number, line in enumerate(found) if line.where != "both"]
    return {near for number in different for near in range(number - CONTEXT, number + CONTEXT + 1)}


def _line(line: Line, one: _Side, other: _Side) -> str:
    if line.first is not None:
        text = one.line(line.first)
        return f"  {text}" if line.where == "both" else click.style("- ", fg="red") + text
    assert line.second is not None, "an event is in one of both logs"
    return click.style("+ ", fg="green") + other.line(line.second)
