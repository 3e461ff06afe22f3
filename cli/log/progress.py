"""How far a long look through the store is; on a terminal only."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from antiphon.events.envelope import Stored
    from antiphon.events.store import Holding


class Looking(AbstractContextManager["Looking"]):
    """A bar on stderr that counts bytes of lives. `at` begins a life, `watch` is told of its events."""

    def __init__(self, total_bytes: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
        hidden = not sys.stderr.isatty()
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True, disable=hidden)
        self._task = self._bar.add_task("looking", total=total_bytes)
        self._end = 0

    def __enter__(self) -> Looking:
        self._bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._bar.stop()

    def at(self, life: Holding) -> None:
        """The lives before this one are done."""
        self._bar.update(self._task, completed=self._end, description=f"{life.session}/{life.incarnation}")
        self._end += life.events_bytes + life.audio_bytes

    def watch(self, stored: Stored) -> None:
        if stored.blob is not None:
            self._bar.advance(self._task, stored.blob.length)
