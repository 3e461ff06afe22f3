"""`antiphon log ls`: every session there is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .lines import cell, size
from .lives import is_gone
from .store import DATA, JSON, open_store

if TYPE_CHECKING:
    from antiphon.events.envelope import Stored
    from antiphon.events.segments.log import SegmentLog
    from antiphon.events.store import Head

LAST = 64
"""Events among which a session's end stands as a rule: behind it comes only what its clients still took."""


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
            cell(row["ended"]),
        )
    Console(width=None if sys.stdout.isatty() else 110).print(table)


def _rows(store: SegmentLog) -> Iterator[dict[str, Any]]:
    """One row a session. A log that cannot be read is listed as such, not left out."""
    from antiphon.events.errors import LogError
    from antiphon.replay.lines import clock

    for head in store.sessions():
        first = last = None
        ended = "open"
        try:
            first = next(_read(store, head, 0, 1), None)
            last, ended = _end(store, head)
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


def _end(store: SegmentLog, head: Head) -> tuple[Stored | None, str]:
    """The last event, and why the session is over. A log is read whole only where its end does not say."""
    from antiphon.replay.inspect.summary import ending

    last: Stored | None = None
    ended: str | None = None
    start = max(head.next_seq - LAST, 0)
    for begin in (start, 0) if head.sealed and start else (start,):
        for last in _read(store, head, begin, head.next_seq):
            ended = ending(last.event) or ended
        if ended is not None:
            break
    return last, ended or "open"


def _read(store: SegmentLog, head: Head, start: int, stop: int) -> Iterator[Stored]:
    return store.read(head.session, incarnation=head.incarnation, start=start, stop=stop)
