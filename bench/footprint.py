"""What a server is before anybody talks to it: how soon it answers, and how much memory it holds.

    python -m bench.footprint

Each run starts `antiphon serve` anew and counts from the start of the command: to the first answer of /live,
and to /health saying that conversations can begin. Memory is read once the server is ready.
"""

from __future__ import annotations

from pathlib import Path

import click
from msgspec import Struct

from bench.figures import Figure, quantile, show, write_json
from bench.machine import machine
from bench.processes import resident_bytes, serving_process, tree
from bench.server import serving


class Start(Struct, frozen=True):
    """One start. Seconds and megabytes (10^6 bytes)."""

    live_s: float
    ready_s: float
    serving_mb: float
    tree_mb: float
    """The sum over all processes; pages that they share count in each."""


@click.command()
@click.option("--stage", type=click.Choice(["cascade", "echo"]), default="cascade", show_default=True)
@click.option("--runs", type=click.IntRange(1), default=5, show_default=True)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Also write everything here.")
def main(stage: str, runs: int, json_path: Path | None) -> None:
    """Measure start-up and memory of a server without sessions; the medians count."""
    on = machine()
    click.echo(on)
    starts = []
    for _ in range(runs):
        starts.append(start(stage))
        one = starts[-1]
        click.echo(
            f"live {one.live_s:.2f} s  ready {one.ready_s:.2f} s  "
            f"serving process {one.serving_mb:.0f} MB  all {one.tree_mb:.0f} MB"
        )
    figures = [
        Figure("start of the command to /live", _median([one.live_s for one in starts]), "s", 1.5, runs),
        Figure("start of the command to ready", _median([one.ready_s for one in starts]), "s", None, runs),
        Figure("serving process, resident", _median([one.serving_mb for one in starts]), "MB", 150, runs),
        Figure("all processes, resident", _median([one.tree_mb for one in starts]), "MB", None, runs),
    ]
    click.echo()
    show(figures)
    write_json(json_path, machine=on, stage=stage, figures=figures, starts=starts)


def start(stage: str) -> Start:
    with serving(stage, ready=False) as server:
        live_s = server.answered("/live")
        ready_s = server.answered("/health")
        return Start(
            live_s=live_s,
            ready_s=ready_s,
            serving_mb=resident_bytes(serving_process(server.pid)) / 1e6,
            tree_mb=sum(resident_bytes(pid) for pid in tree(server.pid)) / 1e6,
        )


def _median(values: list[float]) -> float | None:
    return quantile(values, 0.5)


if __name__ == "__main__":
    main()
