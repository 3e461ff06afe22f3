"""`antiphon log salvage`: what can be had of a damaged log."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import lines
from .store import DAMAGED, DATA, JSON, LIFE, SESSION, fail, open_store, told
from .travel import SUFFIX, new_file, tell

if TYPE_CHECKING:
    from antiphon.events.segments.layout import Layout, Life
    from antiphon.events.segments.salvage import Damage


@click.command("salvage")
@SESSION
@DATA
@LIFE
@click.option(
    "--to",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar=f"FILE{SUFFIX}",
    help="Write what is sound into a recording; the log stays as it is.",
)
@click.option("--behind", is_flag=True, help="Show the sound events behind the damage, and do nothing else.")
@click.option("--in-place", is_flag=True, help="Put what is sound in the log's place.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@JSON
def salvage(
    session: str,
    data: Path,
    life: int | None,
    to: Path | None,
    behind: bool,
    in_place: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Make a sound log of a damaged one: everything before the damage.

    Says what is damaged and what would be kept, and changes nothing unless it is told what to do. With
    --in-place the damaged files are moved into a folder damaged-N beside the log, and never deleted.

    Exit codes: 0 nothing is damaged, or it was salvaged; 1 it could not be; 3 it is damaged, and was left so.
    """
    if (to is not None) + behind + in_place > 1:
        raise click.UsageError("one thing at a time: --to, --behind or --in-place")
    open_store(data)
    with told():
        layout, one = _find(data, session, life)
        if behind:
            _show_behind(one, as_json)
        elif to is not None:
            _write(layout, one, to, as_json)
        else:
            _repair(layout, one, in_place, yes, as_json)


def _find(data: Path, session: str, life: int | None) -> tuple[Layout, Life]:
    """Raises NoSuchSession."""
    from antiphon.events.ids import SessionId
    from antiphon.events.segments.layout import Layout

    layout = Layout(data)
    return layout, layout.find(SessionId(session), life)


def _show_behind(life: Life, as_json: bool) -> None:
    from antiphon.events.segments.salvage import behind
    from antiphon.replay.lines import as_json as json_line
    from antiphon.replay.timeline import Elapsed

    elapsed = Elapsed()
    for stored in behind(life):
        seconds = elapsed.seconds(stored)
        click.echo(json_line(stored) if as_json else lines.as_line(stored, seconds))


def _write(layout: Layout, life: Life, to: Path, as_json: bool) -> None:
    """Through a store of its own, so that the recording is one like any other."""
    from antiphon.events.segments.log import SegmentLog
    from antiphon.events.segments.salvage import rescue
    from antiphon.replay import recording

    with new_file(to) as file, tempfile.TemporaryDirectory(dir=to.parent) as folder:
        store = SegmentLog(Path(folder), deliver=lambda call: call())
        with rescue(layout, life) as container:
            store.import_(container)
        manifest = recording.write(store, life.session, file, incarnation=life.incarnation)
    tell(to, manifest, "written", as_json)


def _repair(layout: Layout, life: Life, in_place: bool, yes: bool, as_json: bool) -> None:
    from antiphon.events.segments.salvage import examine, repair

    damage = examine(life)
    if damage is not None and in_place:
        question = f"{_sentence(damage)} Put what is sound in its place?"
        if not yes and not click.confirm(question, default=False, err=True):
            fail("nothing was changed")
        damage = repair(layout, life)
    _tell(life, damage, in_place, as_json)
    if damage is not None and not in_place:
        sys.exit(DAMAGED)


def _sentence(damage: Damage) -> str:
    lost = f"; {damage.behind} more lie behind the damage and are sound" if damage.behind else ""
    return f"{damage.what.reason}: {damage.kept} events can be kept{lost}."


def _tell(life: Life, damage: Damage | None, done: bool, as_json: bool) -> None:
    import msgspec

    name = f"{life.session}/{life.incarnation}"
    if as_json:
        shown = {"session": life.session, "life": life.incarnation, "damaged": damage is not None}
        if damage is not None:
            shown |= {"reason": damage.what.reason, "kept": damage.kept, "behind": damage.behind}
            shown["salvaged"] = done
        click.echo(msgspec.json.encode(shown).decode())
    elif damage is None:
        click.echo(f"{name}: nothing is damaged")
    elif done:
        click.echo(
            f"{name}: salvaged: {damage.kept} events; the damaged files are in damaged-N beside the log"
        )
    else:
        click.echo(f"{name}: {_sentence(damage)}")
        click.echo(
            "--to FILE writes what is sound, --in-place repairs, --behind shows what lies behind", err=True
        )
