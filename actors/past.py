"""What a stage heard and said before it was lost, read from the log, for whoever takes its place.

A stage's state (KV) is a cache of the log. What it heard is told, also where a cancel overtook what it would
have said; the unit under way is asked again anyway. The log is read from its end backwards, each event of it
once, and no further than it has to be: this happens on the loop of a process with other sessions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from antiphon.actors.stages.contract import PastUnit
from antiphon.events.envelope import Stored
from antiphon.events.ids import Operation, SessionId
from antiphon.events.store import Log
from antiphon.events.units import BYTES_PER_SAMPLE
from antiphon.events.vocabulary import (
    EpochAdvanced,
    InputAppended,
    TextSpoken,
    TurnEnded,
    UnitCompleted,
    UnitRefused,
    UnitSubmitted,
)

BLOCK = 4096
"""Events that are read at once."""
_TELLING = (EpochAdvanced, InputAppended, TextSpoken, TurnEnded, UnitCompleted, UnitRefused, UnitSubmitted)


class _Given:
    """A unit in the course of the log."""

    def __init__(self, operation: Operation, event: UnitSubmitted) -> None:
        self.operation = operation
        self.start, self.until, self.silence = event.from_sample, event.until_sample, event.silence
        self.text, self.turn_ended = "", False
        self.tokens: tuple[int, ...] = ()

    def told(self, heard: bytes, begins: int) -> PastUnit:
        """`heard`: the input from sample `begins` on."""
        real = b""
        if self.start < self.until:
            real = heard[BYTES_PER_SAMPLE * (self.start - begins) : BYTES_PER_SAMPLE * (self.until - begins)]
        pcm = real + bytes(BYTES_PER_SAMPLE * self.silence)
        return PastUnit(pcm, self.text, self.turn_ended, self.tokens)


def past(log: Log, session: SessionId, incarnation: int, most: int) -> tuple[PastUnit, ...]:
    """The latest `most` units that were heard, oldest first."""
    said: deque[Stored] = deque()
    given = 0
    units: list[_Given] = []
    stop = int(log.head(session, incarnation=incarnation).next_seq)
    while stop > 0 and not (len(units) == most and _sound_is_there(said, units)):
        start = max(stop - BLOCK, 0)
        block = log.read(session, incarnation=incarnation, start=start, stop=stop)
        telling = [stored for stored in block if isinstance(stored.event, _TELLING)]
        said.extendleft(reversed(telling))
        given += sum(isinstance(stored.event, UnitSubmitted) for stored in telling)
        stop = start
        if given >= most or not stop:
            units = _heard(said)[-most:]
    begins = _begins(units)
    sound = b"" if begins is None else _audio(log, session, incarnation, said, begins)
    return tuple(unit.told(sound, begins or 0) for unit in units)


def _heard(said: Iterable[Stored]) -> list[_Given]:
    """The units that the stage heard. What it said of one may stand in the log behind its completion, and
    before the next is given; what came too late for its epoch was not heard, and is said so."""
    given: _Given | None = None
    heard: list[_Given] = []
    for stored in said:
        match stored.event:
            case UnitSubmitted(work="unit") as submitted:
                given = _Given(Operation(stored.seq), submitted)  # one at a time
            case TextSpoken(operation=operation, text=text) if given and given.operation == operation:
                given.text += text
            case TurnEnded(operation=operation) if given and given.operation == operation:
                given.turn_ended = True
            case UnitCompleted(operation=operation, tokens=tokens) if given and given.operation == operation:
                given.tokens = tokens
                heard.append(given)
            case EpochAdvanced():
                if given and given not in heard[-1:]:
                    heard.append(given)
                given = None
            case UnitRefused(operation=operation):
                given = None if given and given.operation == operation else given
                heard = heard[:-1] if heard and heard[-1].operation == operation else heard
    return heard


def _begins(units: list[_Given]) -> int | None:
    """The first sample that any of them was given; None: all were silence."""
    return min((unit.start for unit in units if unit.start < unit.until), default=None)


def _sound_is_there(said: Iterable[Stored], units: list[_Given]) -> bool:
    begins, appended = _begins(units), (stored.event for stored in said)
    first = next((event for event in appended if isinstance(event, InputAppended)), None)
    return begins is None or (first is not None and first.until_sample - first.samples <= begins)


def _audio(log: Log, session: SessionId, incarnation: int, said: Iterable[Stored], begins: int) -> bytes:
    """All input from sample `begins` on."""
    parts: list[bytes] = []
    for stored in said:
        event = stored.event
        if isinstance(event, InputAppended) and stored.blob and event.until_sample > begins:
            pcm = log.read_blob(session, stored.blob, incarnation=incarnation)
            first = event.until_sample - event.samples
            parts.append(pcm[BYTES_PER_SAMPLE * max(begins - first, 0) :])
    return b"".join(parts)
