"""`antiphon log show`: one session, event by event."""

from __future__ import annotations

from pathlib import Path

import click

from . import lines
from .store import DATA, JSON, LIFE, SESSION, open_store, told


@click.command("show")
@SESSION
@DATA
@JSON
@LIFE
@click.option("--all", "everything", is_flag=True, help="Also the events that come many times a second.")
def show(session: str, data: Path, as_json: bool, life: int | None, everything: bool) -> None:
    """Show a session's events. Exit code 3 when the log is damaged, after what precedes the damage."""
    from antiphon.events.ids import SessionId
    from antiphon.replay.lines import as_json as json_line

    store = open_store(data)
    began: int | None = None
    hidden = 0
    with told():
        for stored in store.read(SessionId(session), incarnation=life):
            began = stored.at.mono_ns if began is None else began
            if as_json:
                click.echo(json_line(stored))
            elif everything or not lines.is_quiet(stored):
                click.echo(lines.as_line(stored, (stored.at.mono_ns - began) / 1e9))
            else:
                hidden += 1
    if hidden:
        click.echo(f"({hidden} frequent events not shown; --all shows them)", err=True)
