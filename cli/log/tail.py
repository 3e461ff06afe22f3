"""`antiphon log tail`: what is being written right now, by whichever process."""

from __future__ import annotations

import asyncio
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

import click

from . import lines
from .store import DATA, JSON, complete, open_store, told

if TYPE_CHECKING:
    from antiphon.events.envelope import Stored
    from antiphon.events.ids import SessionId
    from antiphon.events.segments.log import SegmentLog

LOOK_EVERY_S = 0.25
"""How often it is looked whether sessions have begun."""


@click.command("tail")
@click.argument("session", required=False, shell_complete=complete)
@DATA
@JSON
@click.option("--all", "everything", is_flag=True, help="Also the events that come many times a second.")
@click.option(
    "--last",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="Begin with the last N events of SESSION.",
)
def tail(session: str | None, data: Path, as_json: bool, everything: bool, last: int) -> None:
    """Show events as they are written: of SESSION until it ends, or of all sessions, also those that begin.

    Of all sessions only what happens from now on is shown.

    Exit codes: 0 the session has ended, 1 no such session, 3 its log is damaged, 130 stopped with Ctrl-C.
    """
    from antiphon.events.ids import SessionId

    store = open_store(data)
    with told():
        if session is None:
            asyncio.run(_Everybody(store, data, as_json=as_json, everything=everything).follow())
        else:
            asyncio.run(_follow(store, SessionId(session), last, as_json, everything))


async def _follow(store: SegmentLog, name: SessionId, last: int, as_json: bool, everything: bool) -> None:
    """One session from its last few events to its end."""
    shown = _Shown(as_json, everything)
    recent: deque[tuple[Stored, float]] = deque(maxlen=last)
    start = 0
    for stored in store.read(name):
        seconds = shown.seconds(stored)
        start = stored.seq + 1
        if shown.wants(stored):
            recent.append((stored, seconds))
    for stored, seconds in recent:
        shown.show(stored, seconds)
    await _show_from(store, name, start, shown)
    click.echo("(the session has ended)", err=True)


async def _show_from(store: SegmentLog, name: SessionId, start: int, shown: _Shown) -> None:
    from antiphon.events.envelope import Stored

    async for what in store.follow(name, start=start):
        if isinstance(what, Stored):
            seconds = shown.seconds(what)
            if shown.wants(what):
                shown.show(what, seconds)


class _Shown:
    """How the events of one life are printed; `prefix` says which life it is, where there are several."""

    def __init__(self, as_json: bool, everything: bool, prefix: tuple[str, int] | None = None) -> None:
        self._as_json, self._everything, self._prefix = as_json, everything, prefix
        from antiphon.replay.timeline import Elapsed

        self._elapsed = Elapsed()

    def seconds(self, stored: Stored) -> float:
        """Asked for every event in order, from the first: times count from there."""
        return self._elapsed.seconds(stored)

    def wants(self, stored: Stored) -> bool:
        return self._as_json or self._everything or not lines.is_quiet(stored)

    def show(self, stored: Stored, seconds: float) -> None:
        from antiphon.replay.lines import as_json

        if not self._as_json:
            line = lines.as_line(stored, seconds)
            click.echo(line if self._prefix is None else f"{self._prefix[0]} {line}")
        elif self._prefix is None:
            click.echo(as_json(stored))
        else:
            session, life = self._prefix
            click.echo(b'{"session":"%s","life":%d,' % (session.encode(), life) + as_json(stored)[1:])


class _Everybody:
    """All sessions of a store: those that go on, and those that begin later."""

    def __init__(self, store: SegmentLog, data: Path, *, as_json: bool, everything: bool) -> None:
        self._store, self._data = store, data
        self._as_json, self._everything = as_json, everything
        self._settled: set[SessionId] = set()
        """Sessions that need not be looked at: followed now, or over before we came."""
        self._followed: dict[SessionId, int] = {}
        """The latest life of each session that is or was followed."""

    async def follow(self) -> None:
        from antiphon.events.segments.layout import Layout

        layout, from_now_on = Layout(self._data), True
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    for name in layout.sessions():
                        if name not in self._settled:
                            self._look(name, group, from_now_on)
                    if from_now_on:
                        self._say_how_many()
                    from_now_on = False
                    await asyncio.sleep(LOOK_EVERY_S)
        except BaseExceptionGroup as ended:  # whatever ends one of them ends the command, as itself
            raise ended.exceptions[0] from None

    def _say_how_many(self) -> None:
        count = len(self._followed)
        going_on = f"{count} session{'s' if count > 1 else ''} and " if count else ""
        click.echo(f"(following {going_on}every session that begins; Ctrl-C ends)", err=True)

    def _look(self, name: SessionId, group: asyncio.TaskGroup, from_now_on: bool) -> None:
        from antiphon.events.errors import LogError

        try:
            head = self._store.head(name)
        except (LogError, OSError):  # it is being made, or cannot be read: `antiphon log verify` says so
            return
        if self._followed.get(name) == head.incarnation:  # over, and nothing new since
            return
        self._settled.add(name)
        if not (from_now_on and head.sealed):
            self._followed[name] = head.incarnation
            start = head.next_seq if from_now_on else 0
            group.create_task(self._one(name, head.incarnation, start))

    async def _one(self, name: SessionId, life: int, start: int) -> None:
        from antiphon.events.errors import LogError

        shown = _Shown(self._as_json, self._everything, (name, life))
        try:
            for first in self._store.read(name, incarnation=life, stop=1):
                shown.seconds(first)
            await _show_from(self._store, name, start, shown)
        except LogError as error:
            click.echo(f"{name}: {lines.printable(str(error))}", err=True)
        self._settled.discard(name)
