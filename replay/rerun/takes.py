"""What the stage said in a recorded call: per operation its outputs, and how long after being asked.

An answer that was cut off has no end here: what more would have come nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from antiphon.actors.stages.contract import (
    Body,
    Called,
    Consumed,
    Failed,
    Finished,
    Heard,
    Measured,
    Routed,
    Said,
    TurnEnded,
)
from antiphon.events import vocabulary as v
from antiphon.events.envelope import BlobRef, Stored
from antiphon.events.ids import Operation
from antiphon.events.units import BYTES_PER_SAMPLE

from ..timeline import Timeline

_NONE = Operation(-1)
Payload = Callable[[BlobRef], bytes]
"""Reads recorded audio; b"" where it was erased."""


class Line(Struct, frozen=True):
    """One output, so long after the operation was asked. `audio`: of a Said, its sound."""

    after_ns: int
    body: Body
    audio: tuple[BlobRef, ...] = ()
    samples: int = 0
    last: bool = False

    def spoken(self, payload: Payload) -> Body:
        """With its sound; where that is gone it is as long, and silent."""
        if not isinstance(self.body, Said) or not self.samples:
            return self.body
        pcm = b"".join(map(payload, self.audio))
        return Said(self.body.text, pcm or bytes(BYTES_PER_SAMPLE * self.samples))


class Take(Struct):
    """One operation. `recognised`: of an answer, how many utterances had been understood before it.

    `void_after_ns`: when it was cut off, if it was, since it was asked."""

    work: str
    asked_ns: int
    from_sample: int = 0
    until_sample: int = 0
    recognised: int = 0
    void_after_ns: int | None = None
    lines: list[Line] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        return bool(self.lines) and self.lines[-1].last


class Takes:
    """Of one call, told of its events in order. `opened_after_ns`: how long the stage took to open."""

    def __init__(self, events: Iterable[Stored]) -> None:
        self.opened_after_ns = 0
        self._timeline, self._at_ns = Timeline(), 0
        self._of: dict[Operation, Take] = {}
        self._answering: dict[str, Operation] = {}
        """By response, the operation that speaks for it."""
        self._recognised = 0
        self._is_open = False
        for stored in events:
            self._timeline.pass_(stored)
            self._at_ns = self._timeline.since_ns(stored.at.mono_ns)
            read = _READERS.get(type(stored.event))
            if read is not None:
                read(self, stored, stored.event)

    @property
    def all(self) -> list[Take]:
        return list(self._of.values())

    def opened(self, stored: Stored, event: v.StageOpened) -> None:
        if event.stage == "model" and not self._is_open:
            self._is_open, self.opened_after_ns = True, self._at_ns

    def submitted(self, stored: Stored, event: v.UnitSubmitted) -> None:
        take = Take(event.work, self._at_ns, event.from_sample, event.until_sample, self._recognised)
        self._of[Operation(stored.seq)] = take
        if event.work == "speak" and event.response is not None:
            self._answering[event.response] = Operation(stored.seq)

    def heard(self, stored: Stored, event: v.InputAppended) -> None:
        """A piece of input may be an operation: it is, if something is said of it."""
        start = event.until_sample - event.samples
        self._of[Operation(stored.seq)] = Take("hear", self._at_ns, start, event.until_sample)

    def _say(self, operation: Operation, body: Body, *, last: bool = False, **more: Any) -> None:
        take = self._of.get(operation)
        if take is not None and not take.is_whole:
            take.lines.append(Line(self._at_ns - take.asked_ns, body, last=last, **more))

    def words(self, stored: Stored, event: v.TextSpoken) -> None:
        self._say(event.operation, Said(event.text))

    def sound(self, stored: Stored, event: v.AudioSpoken) -> None:
        """Pieces of one output came together."""
        take = self._of.get(event.operation)
        if take is None or take.is_whole:
            return
        there = () if stored.blob is None else (stored.blob,)
        if take.lines and take.asked_ns + take.lines[-1].after_ns == self._at_ns:
            line = take.lines[-1]
            if isinstance(line.body, Said):
                joined = (*line.audio, *there)
                take.lines[-1] = Line(line.after_ns, line.body, joined, line.samples + event.samples)
                return
        self._say(event.operation, Said(), audio=there, samples=event.samples)

    def routed(self, stored: Stored, event: v.AnswerRouted) -> None:
        self._say(event.operation, Routed(event.route))

    def called(self, stored: Stored, event: v.ToolCalled) -> None:
        self._say(event.operation, Called(event.call_id, event.name, event.arguments))

    def listened(self, stored: Stored, event: v.ModelListened) -> None:
        if event.operation is not None:
            self._say(event.operation, Consumed(event.reason))

    def turn_ended(self, stored: Stored, event: v.TurnEnded) -> None:
        self._say(event.operation, TurnEnded())

    def measured(self, stored: Stored, event: v.StageMeasured) -> None:
        self._say(event.operation, Measured(event.name, event.value_ms, event.each_us))

    def completed(self, stored: Stored, event: v.UnitCompleted) -> None:
        take = self._of.get(event.operation)
        if take is None:
            return
        if take.work == "recognise":
            self._recognised += 1
            self._say(event.operation, Heard(event.text or ""), last=True)
        elif take.work in ("unit", "hear") and take.lines:
            take.lines[-1] = replace(take.lines[-1], last=True)
        else:
            self._say(event.operation, Finished(), last=True)

    def refused(self, stored: Stored, event: v.UnitRefused) -> None:
        failed = Failed(event.code, event.message, retryable=event.retryable)
        self._say(event.operation, failed, last=True)

    def moved(self, stored: Stored, event: v.EpochAdvanced) -> None:
        for take in self._of.values():
            if take.work == "speak" and take.void_after_ns is None and not take.is_whole:
                take.void_after_ns = self._at_ns - take.asked_ns

    def ended(self, stored: Stored, event: v.ResponseEnded) -> None:
        """Says what its end was, where the stage said it."""
        take = self._of.get(self._answering.get(event.response, _NONE))
        if take is None or not take.is_whole or not isinstance(take.lines[-1].body, Finished):
            return
        usage = event.usage
        why: Any = "length" if event.reason == "max_output_tokens" else "done"
        body = Finished(why, usage.input_tokens, usage.output_tokens, usage.cached_tokens)
        take.lines[-1] = Line(take.lines[-1].after_ns, body, last=True)


_READERS: dict[type[v.Event], Callable[[Takes, Stored, Any], None]] = {
    v.StageOpened: Takes.opened,
    v.UnitSubmitted: Takes.submitted,
    v.InputAppended: Takes.heard,
    v.TextSpoken: Takes.words,
    v.AudioSpoken: Takes.sound,
    v.AnswerRouted: Takes.routed,
    v.ToolCalled: Takes.called,
    v.ModelListened: Takes.listened,
    v.TurnEnded: Takes.turn_ended,
    v.StageMeasured: Takes.measured,
    v.UnitCompleted: Takes.completed,
    v.UnitRefused: Takes.refused,
    v.EpochAdvanced: Takes.moved,
    v.ResponseEnded: Takes.ended,
}
