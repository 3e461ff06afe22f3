"""`antiphon log ls`: every session there is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .lines import size
from .lives import is_gone
from .store import DATA, JSON, open_store

if TYPE_CHECKING:
    from antiphon.events.segments.log import SegmentLog


@click.command("ls")
@DATA
@JSON
def ls(data: Path, as_json: bool) -> None:
    """List the sessions, newest first."""
    import msgspec

    store = open_store(data)
    rows = sorted(_rows(store), key=lambda row: row["began"] or "", reverse=True)
    if as_json:
        for row in rows:
            click.echo(msgspec.json.encode(row).decode())
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("session", "began", "lasted", "events", "audio", "ended"):
        table.add_column(
            name, justify="right" if name in ("lasted", "events", "audio") else "left", no_wrap=True
        )
    for row in rows:
        table.add_row(
            row["session"],
            (row["began"] or "")[:19].replace("T", " "),
            f"{row['seconds']:.1f} s",
            str(row["events"]),
            "erased" if row["erased"] else size(row["audio_bytes"]),
            row["ended"],
        )
    Console(width=None if sys.stdout.isatty() else 110).print(table)


def _rows(store: SegmentLog) -> Iterator[dict[str, Any]]:
    """One row a session. A log that cannot be read is listed as such, not left out."""
    from antiphon.events.errors import LogError
    from antiphon.replay.inspect.summary import ending
    from antiphon.replay.lines import clock

    for head in store.sessions():
        first = last = None
        ended = "open"
        try:
            for stored in store.read(head.session):
                first, last = first or stored, stored
                ended = ending(stored.event) or ended
        except (LogError, OSError) as error:
            if is_gone(store, head.session, head.incarnation):
                continue
            ended = getattr(error, "code", "unreadable")
        began = first.at.wall_ns if first else 0
        yield {
            "session": head.session,
            "life": head.incarnation,
            "began": clock(began) if first else None,
            "seconds": (last.at.wall_ns - began) / 1e9 if last else 0.0,
            "events": head.next_seq,
            "audio_bytes": head.audio_bytes,
            "sealed": head.sealed,
            "erased": head.erased,
            "ended": ended,
        }
