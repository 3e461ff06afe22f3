"""How far long work is: on a terminal only, and never where a program reads what is printed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from .lines import printable

if TYPE_CHECKING:
    from rich.progress import Progress

    from antiphon.events.envelope import Stored
    from antiphon.events.store import Holding


def bar(*, quiet: bool) -> Progress:
    """On stderr, and gone when the work is done. `quiet`: as where there is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    hidden = quiet or not (sys.stdout.isatty() and sys.stderr.isatty())
    return Progress(*columns, console=Console(stderr=True), transient=True, disable=hidden)


class Looking(AbstractContextManager["Looking"]):
    """A bar that counts bytes of lives, or whatever else is looked at one after the other.

    `at` and `begin` begin the next; `watch` is told of a life's events, `advance` of anything.
    """

    def __init__(self, total: int, *, quiet: bool) -> None:
        self._bar = bar(quiet=quiet)
        self._task = self._bar.add_task("looking", total=total)
        self._end = 0

    def __enter__(self) -> Looking:
        self._bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._bar.stop()

    def at(self, life: Holding) -> None:
        self.begin(f"{life.session}/{life.incarnation}", bytes_of(life))

    def begin(self, name: str, size: int) -> None:
        """What was begun before is done."""
        self._bar.update(self._task, completed=self._end, description=printable(name))
        self._end += size

    def advance(self, size: int) -> None:
        self._bar.advance(self._task, size)

    def watch(self, stored: Stored) -> None:
        if stored.blob is not None:
            self.advance(stored.blob.length)

    def watched(self, events: Iterable[Stored]) -> Iterator[Stored]:
        for stored in events:
            self.watch(stored)
            yield stored


def bytes_of(life: Holding) -> int:
    return life.events_bytes + life.audio_bytes
