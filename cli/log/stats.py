"""`antiphon log stats`: what conversations amount to."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .lives import chosen, is_gone
from .store import DAMAGED, DATA, JSON, LIFE, complete, open_store, told

if TYPE_CHECKING:
    from rich.table import Table

    from antiphon.events.segments.log import SegmentLog
    from antiphon.events.store import Holding
    from antiphon.replay.stats import Counting, Spread, Stats


@click.command("stats")
@click.argument("session", required=False, shell_complete=complete)
@DATA
@LIFE
@JSON
def stats(session: str | None, data: Path, life: int | None, as_json: bool) -> None:
    """Count a SESSION, or all sessions together: events, audio, answers, interruptions, times.

    Exit codes: 0 counted, 1 no such session, 3 a log is damaged: what precedes the damage is counted.
    """
    from antiphon.replay.stats import Counting

    store, counting = open_store(data), Counting()
    with told():
        lives = chosen(store, session, life)
        damaged = [said for one in lives if (said := _add(counting, store, one)) is not None]
    if as_json:
        import msgspec

        click.echo(msgspec.json.encode(counting.stats()).decode())
    else:
        _print(counting.stats())
    for said in damaged:
        click.echo(f"damaged: {said}", err=True)
    if damaged:
        sys.exit(DAMAGED)


def _add(counting: Counting, store: SegmentLog, life: Holding) -> str | None:
    """Count a life; why not all of it could be."""
    from antiphon.events.errors import Corrupt, NoSuchSession, NotALog

    try:
        counting.add(life.session, store.read(life.session, incarnation=life.incarnation))
    except NoSuchSession:
        if not is_gone(store, life.session, life.incarnation):
            raise
    except (Corrupt, NotALog) as error:
        return str(error)
    return None


def _print(stats: Stats) -> None:
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 110, highlight=False)
    console.print(_facts(stats))
    if stats.kinds:
        console.print()
        console.print(_kinds(stats))


def _facts(stats: Stats) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=False)
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in stats.outcomes.items())
    heard = f" ({stats.heard_s / stats.generated_s:.0%})" if stats.generated_s else ""
    rows = {
        "lives": str(stats.lives),
        "lasted": f"{stats.seconds:.1f} s",
        "audio in": f"{stats.input_s:.1f} s",
        "audio out": f"{stats.generated_s:.1f} s generated, {stats.sent_s:.1f} s sent, "
        f"{stats.heard_s:.1f} s heard{heard}",
        "responses": f"{stats.responses}" + (f": {outcomes}" if outcomes else ""),
        "interruptions": str(stats.interruptions),
        "first audio after": _spread(stats.first_audio),
        **{f"stage {name}": _spread(spread) for name, spread in stats.stages.items()},
    }
    for name, fact in rows.items():
        table.add_row(name, fact)
    return table


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return "-"
    return f"{spread.median_ms:.0f} ms median, {spread.p90_ms:.0f} ms p90 (n = {spread.count})"


def _kinds(stats: Stats) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("event", "count", "bytes", "audio bytes"):
        table.add_column(name, justify="left" if name == "event" else "right")
    for name, kind in stats.kinds.items():
        table.add_row(
            name, str(kind.count), str(kind.bytes), str(kind.audio_bytes) if kind.audio_bytes else ""
        )
    total = stats.kinds.values()
    table.add_section()
    table.add_row(
        "all",
        str(stats.events),
        str(sum(kind.bytes for kind in total)),
        str(sum(kind.audio_bytes for kind in total)),
    )
    return table
