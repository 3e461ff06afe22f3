"""Keeps events, and answers what one asks of them afterwards: counts, sound, words, and how long it took."""

from __future__ import annotations

import math
from collections.abc import AsyncIterable, Iterator
from typing import Any

from . import events as e
from . import timing
from .client import DuplexClient
from .errors import DuplexProtocolError, protocol_error

Json = dict[str, Any]
EVER = -math.inf


class EventCollector:
    """It keeps everything that it is given: for tests and measurements, not for calls of hours.

    `after_s` is a time of `Event.at`: what came before it does not count.
    """

    def __init__(self) -> None:
        self.events: list[e.Event] = []

    def add(self, event: e.Event) -> None:
        self.events.append(event)

    async def consume(self, events: AsyncIterable[e.Event]) -> None:
        """All of a client's `events()`, until they end. Raises what they end with."""
        async for event in events:
            self.add(event)

    def count(self, type_: str, *, after_s: float = EVER) -> int:
        return sum(1 for _ in self._of(type_, None, after_s))

    def audio_bytes(self, response_id: str | None = None, *, after_s: float = EVER) -> bytes:
        """The audio of one answer, or of all."""
        found = self._of("response.output_audio.delta", response_id, after_s)
        return b"".join(event.delta for event in found if isinstance(event, e.AudioDelta))

    def errors(self, *, after_s: float = EVER) -> list[DuplexProtocolError]:
        return [protocol_error(event.raw) for event in self._of("error", None, after_s)]

    def response_ids(self, *, after_s: float = EVER) -> list[str]:
        """Answers, in the order in which they were created."""
        found = self._of("response.created", None, after_s)
        return [event.response_id for event in found if isinstance(event, e.ResponseCreated)]

    def response_is_done(self, response_id: str | None = None, *, after_s: float = EVER) -> bool:
        """One answer, or any."""
        return next(self._of("response.done", response_id, after_s), None) is not None

    def response_text(self, response_id: str | None = None, *, after_s: float = EVER) -> str:
        """What it said or wrote: one answer, or all."""
        found = (event for event in self.events if _belongs(event, response_id, after_s))
        return "".join(event.delta for event in found if isinstance(event, e.TextDelta))

    def first_received_at(
        self, type_: str, response_id: str | None = None, *, after_s: float = EVER
    ) -> float | None:
        return next((event.at for event in self._of(type_, response_id, after_s)), None)

    def last_received_at(
        self, type_: str, response_id: str | None = None, *, after_s: float = EVER
    ) -> float | None:
        return max((event.at for event in self._of(type_, response_id, after_s)), default=None)

    def timing_summary(
        self,
        after_s: float = EVER,
        *,
        input_committed_at_s: float | None = None,
        response_id: str | None = None,
        measurement_origin: str | None = None,
    ) -> Json:
        """Of one answer: the one that is named, or the first. See timing.py."""
        wanted = response_id or next(iter(self.response_ids(after_s=after_s)), None)
        found = [event for event in self.events if wanted is not None and _belongs(event, wanted, after_s)]
        return timing.timing_summary(
            found, input_committed_at_s=input_committed_at_s, measurement_origin=measurement_origin
        )

    def global_timing_summary(
        self,
        after_s: float = EVER,
        *,
        input_committed_at_s: float | None = None,
        response_ids: list[str] | None = None,
    ) -> Json:
        """Of several answers to one thing that was said: those that are named, or all."""
        ids = self.response_ids(after_s=after_s) if response_ids is None else response_ids
        return timing.global_timing_summary(
            [
                self.timing_summary(after_s, input_committed_at_s=input_committed_at_s, response_id=one)
                for one in ids
            ]
        )

    def _of(self, type_: str, response_id: str | None, after_s: float) -> Iterator[e.Event]:
        return (
            event for event in self.events if event.type == type_ and _belongs(event, response_id, after_s)
        )


async def acknowledge_collected_playback(client: DuplexClient, collector: EventCollector) -> None:
    """Say that all that was collected was played, also of answers without sound: then each has its place in
    the history, before whatever the user says next."""
    for response_id in collector.response_ids():
        deltas = [
            event
            for event in collector.events
            if isinstance(event, e.AudioDelta) and event.response_id == response_id
        ]
        ends = [one.metadata.audio_duration_ms or 0 for one in deltas]
        await client.ack_playback(max(ends, default=0), response_id)


def _belongs(event: e.Event, response_id: str | None, after_s: float) -> bool:
    if event.at < after_s:
        return False
    return response_id is None or event.raw.get("response_id") == response_id
