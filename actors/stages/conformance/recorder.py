"""An engine between the desk and the engine: it does what it is told, and notes all that passes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from antiphon.actors.stages.contract import (
    Body,
    Emit,
    EndTurn,
    Engine,
    Listen,
    Pending,
    Speak,
)
from antiphon.events.ids import Fence, Operation

Work = Listen | EndTurn | Speak


class Word(Struct, frozen=True):
    """Something the engine said, before the desk had a look at it."""

    fence: Fence
    operation: Operation
    body: Body
    last: bool


class Recorder:
    """Fills the Engine protocol. What the desk would hide of an engine's faults stands in `words`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.descriptor = engine.descriptor
        self.words: list[Word] = []
        self.asked: list[Work] = []
        self.slowest: tuple[float, str] = (0.0, "")
        """The longest that a call took, and which one."""
        if self.descriptor.confirms_config:
            self.configure = self._configure

    def start(self, emit: Emit) -> None:
        def note(fence: Fence, operation: Operation, body: Body, *, last: bool = False) -> None:
            self.words.append(Word(fence, operation, body, last))
            emit(fence, operation, body, last=last)

        self.engine.start(note)

    def open(self, fence: Fence, config: dict[str, Any]) -> Pending:
        with self._timed("open"):
            return self.engine.open(fence, config)

    def listen(self, command: Listen) -> None:
        self.asked.append(command)
        with self._timed("listen"):
            self.engine.listen(command)

    def end_turn(self, command: EndTurn) -> None:
        self.asked.append(command)
        with self._timed("end_turn"):
            self.engine.end_turn(command)

    def speak(self, command: Speak) -> None:
        self.asked.append(command)
        with self._timed("speak"):
            self.engine.speak(command)

    def cancel(self, fence: Fence, next_fence: Fence) -> None:
        with self._timed("cancel"):
            self.engine.cancel(fence, next_fence)

    def close(self, fence: Fence) -> Pending:
        with self._timed("close"):
            return self.engine.close(fence)

    def stop(self) -> None:
        self.engine.stop()

    def _configure(self, fence: Fence, config: dict[str, Any]) -> Pending:
        with self._timed("configure"):
            return self.engine.configure(fence, config)

    @contextmanager
    def _timed(self, call: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.slowest = max(self.slowest, (time.monotonic() - began, call))
