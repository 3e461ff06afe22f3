"""Says what it hears, sample for sample, `delay_ms` of audio later.

The delay is a delay line, not a timer: it counts the session's own samples, so the same input always gives
the same output. Each piece heard is answered by one output, which is as much of the line as runs over.
"""

from __future__ import annotations

import uuid
from typing import Any

import msgspec
from msgspec import Struct

from antiphon.actors.stages.contract import (
    CONTRACT_VERSION,
    Body,
    Consumed,
    Descriptor,
    Emit,
    EndTurn,
    EngineRefused,
    Finished,
    Listen,
    Said,
    Speak,
)
from antiphon.events.ids import Fence, SessionId
from antiphon.events.units import BYTES_PER_SAMPLE, ms_to_samples

MAX_DELAY_MS = 60_000


class EchoSettings(Struct, frozen=True, forbid_unknown_fields=True):
    delay_ms: int = 0
    max_sessions: int = 1000


class EchoEngine:
    """Without threads: it answers within the call."""

    def __init__(self, settings: dict[str, Any], *, progress: object = None) -> None:
        try:
            chosen = msgspec.convert(settings, EchoSettings)
        except msgspec.ValidationError as error:
            raise EngineRefused("bad_settings", f"[stage.echo] {error}") from error
        if not 0 <= chosen.delay_ms <= MAX_DELAY_MS:
            raise EngineRefused("bad_settings", f"[stage.echo] delay_ms is 0 to {MAX_DELAY_MS}")
        self._delay_bytes = ms_to_samples(chosen.delay_ms) * BYTES_PER_SAMPLE
        self._lines: dict[SessionId, bytearray] = {}
        self.descriptor = Descriptor(
            contract=CONTRACT_VERSION,
            name="echo",
            role="model",
            engine=f"echo-{uuid.uuid4().hex[:12]}",
            hears="continuously",
            max_sessions=chosen.max_sessions,
        )

    def start(self, emit: Emit) -> None:
        self._emit = emit

    def open(self, fence: Fence, config: dict[str, Any]) -> None:
        self._lines[fence.session] = bytearray()

    def listen(self, command: Listen) -> None:
        self._emit(command.fence, command.operation, self._heard(command), last=True)

    def _heard(self, command: Listen) -> Body:
        if not self._delay_bytes:
            return Said(pcm=command.pcm)
        line = self._lines[command.fence.session]
        line += command.pcm
        over = len(line) - self._delay_bytes
        if over <= 0:
            return Consumed()
        said = bytes(line[:over])
        del line[:over]
        return Said(pcm=said)

    def end_turn(self, command: EndTurn) -> None:
        line = self._lines[command.fence.session]
        if line:
            self._emit(command.fence, command.operation, Said(pcm=bytes(line)))
            line.clear()
        self._emit(command.fence, command.operation, Finished(), last=True)

    def speak(self, command: Speak) -> None:
        """A written turn is answered by its own words."""
        said = command.conversation[-1].text if command.conversation else ""
        self._emit(command.fence, command.operation, Said(text=said))
        self._emit(command.fence, command.operation, Finished(), last=True)

    def cancel(self, fence: Fence, next_fence: Fence) -> None:
        self._lines[fence.session].clear()

    def close(self, fence: Fence) -> None:
        self._lines.pop(fence.session, None)

    def stop(self) -> None:
        pass
