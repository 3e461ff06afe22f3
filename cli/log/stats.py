"""`antiphon log stats`: what conversations amount to."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .lines import cell, printable
from .lives import chosen, is_gone
from .progress import Looking, bytes_of
from .store import DAMAGED, DATA, JSON, LIFE, complete, open_store, told

if TYPE_CHECKING:
    from rich.table import Table

    from antiphon.events.segments.log import SegmentLog
    from antiphon.events.store import Holding
    from antiphon.projections.figures import Figures
    from antiphon.projections.summary import SessionClocks
    from antiphon.replay.stats import Counting, Spread, Stats


@click.command("stats")
@click.argument("session", required=False, shell_complete=complete)
@DATA
@LIFE
@click.option("--each", is_flag=True, help="Also how long the answers of each session took.")
@JSON
def stats(session: str | None, data: Path, life: int | None, each: bool, as_json: bool) -> None:
    """Count a SESSION, or all sessions together: events, audio, answers, interruptions, times.

    Exit codes: 0 counted, 1 no such session, 3 a log is damaged: what precedes the damage is counted.
    """
    from antiphon.replay.stats import Counting

    store, counting = open_store(data), Counting()
    with told():
        lives = chosen(store, session, life)
        with Looking(sum(map(bytes_of, lives)), quiet=as_json) as looking:
            found = [_add(counting, store, one, looking) for one in lives]
    damaged = [said for said in found if said is not None]
    if as_json:
        import msgspec

        counted = counting.stats()
        shown = counted if each else msgspec.structs.replace(counted, each=())
        click.echo(msgspec.json.encode(shown).decode())
    else:
        _print(counting.stats(), each=each)
    for said in damaged:
        click.echo(f"damaged: {printable(said)}", err=True)
    if damaged:
        sys.exit(DAMAGED)


def _add(counting: Counting, store: SegmentLog, life: Holding, looking: Looking) -> str | None:
    """Count a life; why not all of it could be."""
    from antiphon.events.errors import Corrupt, NoSuchSession, NotALog

    looking.at(life)
    try:
        events = store.read(life.session, incarnation=life.incarnation)
        counting.add(life.session, looking.watched(events))
    except NoSuchSession:
        if not is_gone(store, life.session, life.incarnation):
            raise
    except (Corrupt, NotALog) as error:
        return str(error)
    return None


def _print(stats: Stats, *, each: bool) -> None:
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 110, highlight=False)
    console.print(_facts(stats))
    if stats.kinds:
        console.print()
        console.print(_kinds(stats))
    if each:
        console.print()
        console.print(_lives(stats))


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
        **_clocks(stats.clocks),
    }
    for name, fact in rows.items():
        table.add_row(cell(name), cell(fact))
    return table


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return "-"
    return f"{spread.median_ms:.0f} ms median, {spread.p90_ms:.0f} ms p90 (n = {spread.count})"


ON_THE_STAGES_CLOCK = {
    "first_token_ms": "first token",
    "first_audio_ms": "first audio",
    "per_token_ms": "per token",
    "between_tokens_ms": "between tokens",
}
ON_THE_SERVERS_CLOCK = {
    "asked_to_first_audio_ms": "asked to first audio",
    "commit_to_sent_ms": "end of words to first audio sent",
}


def _clocks(clocks: SessionClocks) -> dict[str, str]:
    """How long answers took, by whose clock."""
    named = [
        ("stage", ON_THE_STAGES_CLOCK, clocks.stage),
        ("server", ON_THE_SERVERS_CLOCK, clocks.server),
    ]
    return {
        f"{said} ({whose})": _figures(found[name])
        for whose, names, found in named
        for name, said in names.items()
        if name in found
    }


def _figures(figures: Figures) -> str:
    return f"{figures.p50:.1f} ms p50, {figures.p95:.1f} ms p95 (n = {figures.count})"


def _lives(stats: Stats) -> Table:
    """One row a life: medians, in ms."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    columns = {**ON_THE_STAGES_CLOCK, "commit_to_sent_ms": "words to sent"}
    for name in ("session", "life", "responses", *columns.values()):
        table.add_column(name, justify="left" if name == "session" else "right")
    for one in stats.each:
        found = {**one.clocks.stage, **one.clocks.server}
        medians = [f"{found[name].p50:.1f}" if name in found else "-" for name in columns]
        table.add_row(one.session, str(one.life), str(sum(one.clocks.responses.values())), *medians)
    return table


def _kinds(stats: Stats) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("event", "count", "bytes", "audio bytes"):
        table.add_column(name, justify="left" if name == "event" else "right")
    for name, kind in stats.kinds.items():
        table.add_row(
            cell(name), str(kind.count), str(kind.bytes), str(kind.audio_bytes) if kind.audio_bytes else ""
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
