"""The recorded stage: says what the one in the recording said, as long after being asked as that did.

An utterance is understood as the one in the recording that is mostly the same sound; an answer is the one
that was given behind the same utterance; units and pieces are matched in their order. What the recording has
no counterpart for is told as a failure with the code `not_recorded`: nobody knows what would have been said.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from antiphon.actors.stages.contract import (
    CONTRACT_VERSION,
    Body,
    Descriptor,
    Emit,
    EndTurn,
    Failed,
    Finished,
    Heard,
    Listen,
    Pending,
    Speak,
)
from antiphon.events.ids import Fence, Operation
from antiphon.events.units import BYTES_PER_SAMPLE
from antiphon.events.vocabulary import Abilities

from .takes import Line, Payload, Take, Takes

NOT_RECORDED = "not_recorded"
OVERTAKEN_NS = 1_000_000_000
"""How long a recognition is waited for that the recording has no end of: more speech had overtaken it."""
SAME = 0.5
"""Of what either covers, how much both must cover to be the same utterance."""

Later = Callable[[int, Callable[[], None]], None]
"""So many ns from now, on the call's own clock."""


def descriptor(abilities: Abilities) -> Descriptor:
    """A stage that can do what the recorded one could."""
    return Descriptor(
        contract=CONTRACT_VERSION,
        name=abilities.stage or "recorded",
        role="model",
        engine="recorded",
        hears=abilities.hears,
        transcribes=abilities.transcribes,
        speaks=abilities.speaks,
        max_sessions=1,
        must_not_repeat=abilities.must_not_repeat,
        unit_ms=abilities.unit_ms,
        sees=abilities.sees,
        reads=abilities.reads,
        takes_audio=abilities.takes_audio,
        calls_tools=abilities.calls_tools,
        confirms_config=abilities.confirms_config,
        response_options=abilities.response_options,
    )


class RecordedEngine:
    """Implements Engine, in the time of the call."""

    def __init__(self, abilities: Abilities, takes: Takes, payload: Payload, later: Later) -> None:
        self.descriptor = descriptor(abilities)
        self._payload, self._later, self._opens_after_ns = payload, later, takes.opened_after_ns
        self._left: dict[str, list[Take]] = {}
        for take in takes.all:
            self._left.setdefault(take.work, []).append(take)
        self._recognised = 0
        """Of the recorded utterances, how many had been understood with the one that was last heard again."""
        self._emit: Emit

    def start(self, emit: Emit) -> None:
        self._emit = emit

    def open(self, fence: Fence, config: dict[str, Any]) -> Pending:
        opened: Future[None] = Future()
        self._later(self._opens_after_ns, lambda: opened.set_result(None))
        return opened

    def configure(self, fence: Fence, config: dict[str, Any]) -> Pending:
        return None

    def listen(self, command: Listen) -> None:
        if command.whole:
            take = self._same_utterance(command)
        else:
            take = self._next("unit" if self.descriptor.unit_ms else "hear")
        self._play(take, command.fence, command.operation)

    def end_turn(self, command: EndTurn) -> None:
        take = self._next("turn")
        if take is None:
            self._emit(command.fence, command.operation, Finished(), last=True)
        else:
            self._play(take, command.fence, command.operation)

    def speak(self, command: Speak) -> None:
        left = self._left.get("speak", [])
        take = next((one for one in left if one.recognised == self._recognised), None)
        if take is not None:
            left.remove(take)
        self._play(take, command.fence, command.operation)

    def cancel(self, fence: Fence, next_fence: Fence) -> None:
        """What still comes of it is void."""

    def close(self, fence: Fence) -> Pending:
        return None

    def stop(self) -> None:
        """There is nothing to end."""

    def _next(self, work: str) -> Take | None:
        left = self._left.get(work)
        return left.pop(0) if left else None

    def _same_utterance(self, command: Listen) -> Take | None:
        until = command.until_sample
        start = until - len(command.pcm) // BYTES_PER_SAMPLE
        known = self._left.get("recognise", [])
        best = max(known, key=lambda take: _shared(take, start, until), default=None)
        if best is None or _shared(best, start, until) < SAME:
            return None
        self._recognised = best.recognised + any(isinstance(line.body, Heard) for line in best.lines)
        return best

    def _play(self, take: Take | None, fence: Fence, operation: Operation) -> None:
        if take is None:
            told = "nobody knows: the recording has no such moment"
            self._emit(fence, operation, Failed(NOT_RECORDED, told), last=True)
            return
        for line in take.lines:
            self._later(line.after_ns, self._saying(line, fence, operation))
        if take.work in ("speak", "recognise") and not take.is_whole:
            said_ns = take.lines[-1].after_ns if take.lines else 0
            after_ns = max(said_ns, take.void_after_ns or OVERTAKEN_NS)
            self._later(after_ns, self._saying(Line(after_ns, _CUT, last=True), fence, operation))

    def _saying(self, line: Line, fence: Fence, operation: Operation) -> Callable[[], None]:
        return lambda: self._emit(fence, operation, line.spoken(self._payload), last=line.last)


_CUT: Body = Failed(NOT_RECORDED, "the recording ends here: it was cut off")


def _shared(take: Take, start: int, until: int) -> float:
    both = min(take.until_sample, until) - max(take.from_sample, start)
    either = max(take.until_sample, until) - min(take.from_sample, start)
    return both / either if both > 0 else 0.0
