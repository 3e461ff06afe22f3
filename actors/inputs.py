"""Input audio, had back from the log for a stage that is to hear it again.

Read from the log's end backwards and no further than it has to be: sessions are taken over, and stages come
back, on the loop of a process with other sessions, and a call may have lasted for hours.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from antiphon.events.envelope import BlobRef, Stored
from antiphon.events.ids import Seq, SessionId
from antiphon.events.store import Log
from antiphon.events.vocabulary import InputAppended

BLOCK = 256
"""Events that are read at once: some ten seconds of input and output, in nearly all cases enough."""


class Appended(NamedTuple):
    """A piece of input: samples [until_sample - samples, until_sample), and where its PCM is."""

    seq: Seq
    until_sample: int
    samples: int
    blob: BlobRef


def input_after(log: Log, session: SessionId, incarnation: int, sample: int, before: int) -> list[Appended]:
    """What was appended before seq `before` and ends after `sample`, oldest first; erased audio apart."""
    found: deque[tuple[Stored, InputAppended]] = deque()
    stop = before
    while stop > 0:
        start = max(stop - BLOCK, 0)
        block = list(_appended(log, session, incarnation, start, stop))
        found.extendleft(one for one in reversed(block) if one[1].until_sample > sample)
        if block and block[0][1].until_sample <= sample:  # samples are counted: nothing before it is later
            break
        stop = start
    return _with_sound(found)


def input_behind(log: Log, session: SessionId, incarnation: int, seq: int, before: int) -> list[Appended]:
    """What was appended behind event `seq` and before seq `before`, oldest first; erased audio apart."""
    return _with_sound(_appended(log, session, incarnation, seq + 1, before))


def _appended(
    log: Log, session: SessionId, incarnation: int, start: int, stop: int
) -> Iterator[tuple[Stored, InputAppended]]:
    for stored in log.read(session, incarnation=incarnation, start=start, stop=stop):
        if isinstance(stored.event, InputAppended):
            yield stored, stored.event


def _with_sound(appended: Iterable[tuple[Stored, InputAppended]]) -> list[Appended]:
    return [
        Appended(stored.seq, event.until_sample, event.samples, stored.blob)
        for stored, event in appended
        if stored.blob is not None
    ]
