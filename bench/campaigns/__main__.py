"""Try to make the log lose, tear, falsify or touch what it should not.

    python -m bench.campaigns                    everything, in full
    python -m bench.campaigns --short            a part of everything, as CI runs it
    python -m bench.campaigns cut --seed 7       one campaign, with the seed of an earlier run

The exit code is 1 when a promise was broken; the seed and the first case that failed are printed then, and
the store is kept for a look. A seed that has failed goes into seeds.txt; every run begins with those.
"""

from __future__ import annotations

import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
from msgspec import Struct

from bench.figures import write_json
from bench.machine import machine

from . import attaching, cutting, failing, killing, rotting, serving, stale
from .outcome import Outcome, Tally, Violation, show

SEEDS = Path(__file__).with_name("seeds.txt")


class Campaign(Struct, frozen=True):
    """`run(count, seed, folder, tally)` raises Violation."""

    name: str
    run: Callable[[int, int, Path, Tally], None]
    full: int
    short: int


CAMPAIGNS = (
    Campaign("kill", killing.run, killing.FULL, killing.SHORT),
    Campaign("cut", cutting.run, cutting.FULL, cutting.SHORT),
    Campaign("rot", rotting.run, rotting.FULL, rotting.SHORT),
    Campaign("stale", stale.run, stale.FULL, stale.SHORT),
    Campaign("fail", failing.run, failing.FULL, failing.SHORT),
    Campaign("serve", serving.run, serving.FULL, serving.SHORT),
    Campaign("attach", attaching.run, attaching.FULL, attaching.SHORT),
)
NAMES = [campaign.name for campaign in CAMPAIGNS]


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
@click.option("--short", is_flag=True, help="A part of everything: under two minutes.")
@click.option("--seed", type=int, help="Of an earlier run; otherwise drawn, and printed.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Also write everything here.")
def main(names: tuple[str, ...], short: bool, seed: int | None, json_path: Path | None) -> None:
    """Run campaigns against the segment store; all of them unless named."""
    on = machine()
    click.echo(on)
    seed = secrets.randbelow(1 << 32) if seed is None else seed
    chosen = [campaign for campaign in CAMPAIGNS if not names or campaign.name in names]
    runs = [(campaign, old, True) for campaign in chosen for old in _failed_once(campaign.name)]
    runs += [(campaign, seed, short) for campaign in chosen]
    outcomes: list[Outcome] = []
    for campaign, with_seed, briefly in runs:
        click.echo(f"{campaign.name}, seed {with_seed} ...")
        outcomes.append(_run(campaign, campaign.short if briefly else campaign.full, with_seed))
        if outcomes[-1].broken is not None:
            break
    show(outcomes)
    write_json(json_path, machine=on, outcomes=outcomes)
    if outcomes[-1].broken is not None:
        sys.exit(1)


def _run(campaign: Campaign, count: int, seed: int) -> Outcome:
    folder, tally = Path(tempfile.mkdtemp(prefix=f"antiphon-{campaign.name}-")), Tally()
    began, violation = time.monotonic(), None
    try:
        campaign.run(count, seed, folder, tally)
    except Violation as broken:
        violation = broken
    except Exception:
        click.echo(f"{campaign.name}, seed {seed}: {tally.case}\nkept: {folder}", err=True)
        raise
    took = time.monotonic() - began
    outcome = Outcome(campaign.name, seed, tally.tried, dict(tally.found), took)
    if violation is None:
        shutil.rmtree(folder)
        return outcome
    case = f"{tally.case}: {violation}"
    click.echo(f"BROKEN: {campaign.name}, seed {seed}, case {tally.tried}: {case}\nkept: {folder}", err=True)
    return Outcome(campaign.name, seed, tally.tried, dict(tally.found), took, violation.promise, case)


def _failed_once(name: str) -> Iterator[int]:
    for line in SEEDS.read_text().splitlines():
        words = line.partition("#")[0].split()
        if words and words[0] == name:
            yield int(words[1])


if __name__ == "__main__":
    main()
