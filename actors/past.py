"""What a stage heard and said before it was lost, read from the log, for whoever takes its place.

A stage's state (KV) is a cache of the log. What it completed is told; the unit under way is asked again
anyway.
"""

from __future__ import annotations

from collections import deque

from antiphon.actors.stages.contract import PastUnit
from antiphon.events.ids import Operation, SessionId
from antiphon.events.store import Log
from antiphon.events.units import BYTES_PER_SAMPLE
from antiphon.events.vocabulary import InputAppended, TextSpoken, TurnEnded, UnitCompleted, UnitSubmitted


class _Given:
    """A unit in the course of the log."""

    def __init__(self, event: UnitSubmitted) -> None:
        self.start, self.until, self.silence = event.from_sample, event.until_sample, event.silence
        self.text, self.turn_ended = "", False

    def told(self, heard: bytes, begins: int) -> PastUnit:
        """`heard`: the input from sample `begins` on."""
        real = b""
        if self.start < self.until:
            real = heard[BYTES_PER_SAMPLE * (self.start - begins) : BYTES_PER_SAMPLE * (self.until - begins)]
        return PastUnit(real + bytes(BYTES_PER_SAMPLE * self.silence), self.text, self.turn_ended)


def past(log: Log, session: SessionId, incarnation: int, most: int) -> tuple[PastUnit, ...]:
    """The latest `most` units that were completed, oldest first."""
    latest = _completed(log, session, incarnation, most)
    if not latest:
        return ()
    starts = [unit.start for unit in latest if unit.start < unit.until]
    begins = min(starts, default=0)
    heard = _audio(log, session, incarnation, begins) if starts else b""
    return tuple(unit.told(heard, begins) for unit in latest)


def _completed(log: Log, session: SessionId, incarnation: int, most: int) -> deque[_Given]:
    """What a unit said may stand in the log behind its completion, and before the next is given."""
    given: dict[Operation, _Given] = {}
    latest: deque[_Given] = deque(maxlen=most)
    for stored in log.read(session, incarnation=incarnation):
        match stored.event:
            case UnitSubmitted(work="unit") as submitted:
                given = {Operation(stored.seq): _Given(submitted)}  # one at a time
            case TextSpoken(operation=operation, text=text) if operation in given:
                given[operation].text += text
            case TurnEnded(operation=operation) if operation in given:
                given[operation].turn_ended = True
            case UnitCompleted(operation=operation) if operation in given:
                latest.append(given[operation])
    return latest


def _audio(log: Log, session: SessionId, incarnation: int, begins: int) -> bytes:
    """All input from sample `begins` on."""
    parts: list[bytes] = []
    for stored in log.read(session, incarnation=incarnation):
        event = stored.event
        if isinstance(event, InputAppended) and stored.blob and event.until_sample > begins:
            pcm = log.read_blob(session, stored.blob, incarnation=incarnation)
            first = event.until_sample - event.samples
            parts.append(pcm[BYTES_PER_SAMPLE * max(begins - first, 0) :])
    return b"".join(parts)
