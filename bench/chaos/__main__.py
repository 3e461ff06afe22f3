"""Anything happens to a server under clients that talk; each is told everything, once and in order.

    python -m bench.chaos              300 kills under 40 sessions, two serving processes: an hour
    python -m bench.chaos --short      each trouble once, under 8 sessions: a minute or two
    python -m bench.chaos --seed 7     the same troubles in the same order as with that seed before

Clients talk to the echo with the project's own library, which comes back by itself every 100 ms. Troubles
(troubles.py) come at random moments, one after the other and now and then two at once; a server that ends is
started again as a service manager would (service.py). After ten minutes or more, and at the end, every
client closes its session; what its sockets brought and what it had asked is compared with the log
(checking.py), and others begin.

Exit code 1: something was lost, came twice, in another order or wrong; a session ended before its time; a
process was left over; or (never with --short) it took too long to speak again.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click
import httpx
import uvloop
from msgspec import Struct, field
from rich.console import Console
from rich.table import Table

from antiphon.events.ids import SessionId
from antiphon.events.store import Scope
from bench.campaigns.stores import handle
from bench.figures import Figure, quantile, show, write_json
from bench.machine import machine

from .caller import Caller
from .checking import Found, check
from .disk import SmallDisk, small_disk
from .service import Service
from .troubles import TROUBLES, Field, Trouble

WORKERS = 2
DISK_BYTES = 12_000_000_000
START_S, SETTLE_S = 60.0, 120.0
PAUSE_S = (0.0, 2.0)
SESSION_S = 600.0
"""How long sessions last, and until the round of troubles is over."""
LATER_S = 0.8
"""How much later its consequences may begin: a server without a launcher says goodbye first."""
TOGETHER = 0.2
"""The chance that the next trouble does not wait until the last is over."""
TARGETS = {"serving process killed": 1.0, "every process killed": 4.0, "stage killed": 2.0}
"""Seconds to speak again, p95."""


class Times(Struct):
    """Of one kind of trouble."""

    name: str
    times: int = 0
    again: list[float] = field(default_factory=list)
    """Seconds until a client that it had cut off heard something again."""
    among_others: list[float] = field(default_factory=list)
    """The same where another trouble came right before it: they are those of the two of them."""


class Silent(Exception):
    """Somebody was cut off for ever."""


@click.command()
@click.option("--kills", type=click.IntRange(1, 5_000), default=300, show_default=True)
@click.option("--sessions", type=click.IntRange(1, 200), default=40, show_default=True)
@click.option("--only", multiple=True, type=click.Choice([one.name for one in TROUBLES]), help="These alone.")
@click.option("--short", is_flag=True, help="Each trouble once, under few sessions: whether it works at all.")
@click.option("--seed", type=int, help="Of an earlier run; otherwise drawn, and printed.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Also write everything here.")
def main(
    kills: int, sessions: int, only: tuple[str, ...], short: bool, seed: int | None, json_path: Path | None
) -> None:
    """Try to make clients lose something. See the module's text for what is compared."""
    on = machine()
    seed = secrets.randbelow(1 << 32) if seed is None else seed
    click.echo(f"{on}\nseed {seed}")
    sessions = min(sessions, 8) if short else sessions
    chosen = [one for one in TROUBLES if not only or one.name in only]
    run = Run(chosen, 0 if short else kills, sessions, random.Random(seed))
    with tempfile.TemporaryDirectory(prefix="antiphon-chaos-") as folder:
        run.go(Path(folder))
    show_times(run.times)
    figures = summary(run, targets=not short)
    show(figures)
    found, ended = run.found, run.ended
    write_json(json_path, machine=on, seed=seed, figures=figures, times=run.times, found=found, ended=ended)
    for told in (*run.ended, *run.orphans, run.found.first):
        click.echo(told, err=True)
    if any(figure.met is False for figure in figures):
        sys.exit(1)


class Run:
    """One run. `kills` 0: each trouble once."""

    def __init__(self, chosen: list[Trouble], kills: int, sessions: int, rng: random.Random) -> None:
        self._chosen, self._wanted, self._sessions, self._rng = chosen, kills, sessions, rng
        self.count = 0
        """Sessions that were looked at."""
        self.times = {one.name: Times(one.name) for one in chosen}
        self.found = Found()
        self.ended: list[str] = []
        """How sessions ended that ended before their time."""
        self.kills = self.starts = self.exit_code = 0
        self.orphans: list[str] = []

    def go(self, folder: Path) -> None:
        with small_disk(folder / "data", DISK_BYTES) as disk:
            if disk is None:
                click.echo("this user may not mount a tmpfs: no disk will be full")
            arguments = ["--stage", "echo", "--workers", str(WORKERS), "--min-free", "none"]
            service = Service(folder / "data", folder / "serve.log", *arguments)
            try:
                while not self.wrong and (not self.count or self.kills < self._wanted):
                    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                        callers = runner.run(self._live(service, disk))
                    self._look(folder / "data", callers)
            finally:
                self.exit_code = service.stop()
                self.orphans, self.starts = service.orphans, service.starts
            if self.wrong:
                kept = Path(tempfile.mkdtemp(prefix="antiphon-chaos-kept-"))
                shutil.copytree(folder, kept, dirs_exist_ok=True)
                click.echo(f"kept: {kept}", err=True)

    @property
    def wrong(self) -> bool:
        return bool(self.found.wrong or self.ended)

    def _look(self, data: Path, callers: Sequence[Caller]) -> None:
        """At what sessions have left; what is as it should be is erased, so that there is room for others."""
        click.echo(f"looking at {len(callers)} sessions", err=True)
        with handle(data) as log:
            for caller in callers:
                found = check(log, caller)
                self.found.add(found)
                if not found.wrong:
                    log.erase(SessionId(caller.session), Scope.ALL)
        self.count += len(callers)

    async def _live(self, service: Service, disk: SmallDisk | None) -> list[Caller]:
        await _ready(service)
        callers = [Caller(service.url, random.Random(self._rng.random())) for _ in range(self._sessions)]
        for caller in callers:
            await caller.begin()
        field = Field(service, callers, disk, self._rng)
        try:
            await self._trouble(field)
            await _settled(callers)
        except Silent as silent:
            self.ended.append(str(silent))
        await asyncio.gather(*map(self._hang_up, callers))
        return callers

    async def _trouble(self, field: Field) -> None:
        """Until there were kills enough, or the sessions have lasted long enough."""
        until, alone = time.monotonic() + SESSION_S, True
        while True:
            for trouble in self._rng.sample(self._chosen, len(self._chosen)):
                began = time.monotonic()
                await trouble.happen(field)
                self.kills += trouble.kills
                self.times[trouble.name].times += 1
                if self._wanted and self._rng.random() < TOGETHER:
                    click.echo(f"{self.kills:4} {trouble.name}, and at the same time:", err=True)
                    await asyncio.sleep(self._rng.uniform(0, 0.3))
                    alone = False
                    continue
                await _settled(field.callers)
                self._note(trouble, field, began, alone=alone)
                alone = True
                click.echo(f"{self.kills:4} {trouble.name}, {time.monotonic() - began:.2f} s", err=True)
                await asyncio.sleep(self._rng.uniform(*PAUSE_S))
            if self.kills >= self._wanted or time.monotonic() > until:
                return

    def _note(self, trouble: Trouble, field: Field, began: float, *, alone: bool) -> None:
        times = self.times[trouble.name]
        noted = times.again if alone else times.among_others
        for caller in field.callers:
            cut_off = [end - began for start, end in caller.gaps if end > began]
            if cut_off and (trouble.by_gap or any(at >= began for at in caller.losses)):
                noted.append(max(cut_off))

    async def _hang_up(self, caller: Caller) -> None:
        try:
            await caller.hang_up()
        except Exception as error:  # noqa: BLE001  # whatever it is, it is counted and told
            self.ended.append(f"{caller.session}: {type(error).__name__}: {error}")


async def _ready(service: Service) -> None:
    """Until both serving processes serve and every stage is ready."""
    deadline = time.monotonic() + START_S
    async with httpx.AsyncClient(trust_env=False, timeout=5) as client:
        while time.monotonic() < deadline:
            try:
                page = (await client.get(f"{service.base}/metrics")).text
                workers = [f'antiphon_sessions_live{{worker="{n}"}}' in page for n in range(WORKERS)]
                if all(workers) and (await client.get(f"{service.base}/health")).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.05)
    raise click.ClickException("the server did not start")


async def _settled(callers: Sequence[Caller]) -> None:
    """Until everybody has heard something again. Raises Silent."""
    await asyncio.sleep(LATER_S)
    since = time.monotonic()
    deadline = time.monotonic() + SETTLE_S
    while any(caller.heard_at <= since for caller in callers):
        for caller in callers:
            if (failure := caller.failure) is not None:
                raise Silent(f"{caller.session}: {failure!r}")
        if time.monotonic() > deadline:
            silent = [caller.session for caller in callers if caller.heard_at <= since]
            raise Silent(f"{len(silent)} sessions were silent for {SETTLE_S:g} s: {silent[0]}")
        await asyncio.sleep(0.02)


def summary(run: Run, *, targets: bool) -> list[Figure]:
    found, count = run.found, sum(one.times for one in run.times.values())
    none = (
        ("frames lost", found.lost, found.frames),
        ("frames repeated", found.repeated, found.frames),
        ("frames reordered", found.reordered, found.frames),
        ("frames other than the log holds", found.falsified, found.frames),
        ("client events lost", found.asked_lost, found.asked),
        ("client events taken in twice", found.asked_twice, found.asked),
        ("logs that are not what was sent", found.unsound, run.count),
        ("sessions that ended before their time", len(run.ended), run.count),
        ("processes left over", len(run.orphans), count),
        ("exit code of a server that is told to stop", run.exit_code, 1),
    )
    figures = [Figure(name, float(value), "", 0.0, n) for name, value, n in none]
    figures.append(Figure("times the server was started", float(run.starts), ""))
    for one in run.times.values():
        limit = TARGETS.get(one.name) if targets else None
        if one.again and one.name in TARGETS:
            p95 = quantile(one.again, 0.95)
            figures.append(Figure(f"{one.name}: to the next word, p95", p95, "s", limit, len(one.again)))
    return figures


def _shown(seconds: list[float], share: float) -> str:
    return f"{quantile(seconds, share):.2f}" if seconds else ""


def show_times(times: dict[str, Times]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("trouble", no_wrap=True)
    columns = ("times", "cut off", "s to the next word: p50", "p95", "most", "behind another: p50", "p95")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for one in times.values():
        alone = [_shown(one.again, share) for share in (0.5, 0.95, 1.0)]
        behind = [_shown(one.among_others, share) for share in (0.5, 0.95)]
        table.add_row(one.name, str(one.times), str(len(one.again)), *alone, *behind)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
