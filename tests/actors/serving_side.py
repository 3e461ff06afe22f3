"""The serving process's end of a link, for tests: what it was told, and a way to wait for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from antiphon.actors.link.serving_end import StageLink
from antiphon.actors.stages.contract import Descriptor, Output, StageCommand, StageMessage


class Serving:
    """The serving side: a link, and everything it called back with."""

    def __init__(self, path: Path, role: str = "") -> None:
        self.messages: list[StageMessage] = []
        self.ready: list[Descriptor] = []
        self.lost: list[str] = []
        self._changed = asyncio.Event()
        self.link = StageLink.connect(
            str(path),
            self._noting(self.messages),
            on_ready=self._noting(self.ready),
            on_lost=self._noting(self.lost),
            role=role,
        )

    def _noting(self, notes: list[Any]) -> Callable[[Any], None]:
        def note(something: object) -> None:
            notes.append(something)
            self._changed.set()

        return note

    def send(self, *commands: StageCommand) -> None:
        for command in commands:
            self.link.send(command)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Looked at whenever something was called back, and now and then for what has no callback."""
        async with asyncio.timeout(5):
            while not condition():
                self._changed.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), 0.005)

    @property
    def outputs(self) -> list[Output]:
        return [message for message in self.messages if isinstance(message, Output)]
