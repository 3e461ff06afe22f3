"""SIGKILL at any moment: what was acknowledged is there, what was not is there whole or not at all."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from antiphon.events.conformance import needs
from antiphon.events.conformance.drafts import payload
from antiphon.events.conformance.under_test import StoreUnderTest
from antiphon.events.envelope import Stored
from antiphon.events.ids import SessionId
from antiphon.events.store import Log
from antiphon.events.vocabulary import AudioSpoken, TextSpoken

from .sharing import begin

SESSIONS = 8
BLOB = 3840


class Broken(Exception):
    """The log of a killed writer is not what it should be; the message says how."""


def intact(log: Log, session: SessionId) -> int:
    """The next seq of a log that child.py's `storm` wrote. Raises Broken, and what reading raises."""
    left_of_batch = expected = 0
    for stored in log.read(session):
        if stored.seq != expected:
            raise Broken(f"{session}: seq {stored.seq} where {expected} belongs")
        left_of_batch = _left(log, session, stored, left_of_batch)
        expected += 1
    if left_of_batch:
        raise Broken(f"{session}: the last batch is not whole, {left_of_batch} events are missing")
    return expected


def _left(log: Log, session: SessionId, stored: Stored, left_of_batch: int) -> int:
    """How many events of its batch come after this one, as far as one can tell."""
    event = stored.event
    if isinstance(event, TextSpoken) and "/" in event.text:
        place, size = map(int, event.text.split("/"))
        return size - place - 1
    if isinstance(event, AudioSpoken):
        if stored.blob is None or log.read_blob(session, stored.blob) != payload(stored.seq, BLOB):
            raise Broken(f"{session}: the blob of seq {stored.seq} is not what was written")
        return max(0, left_of_batch - 1)
    if left_of_batch:
        raise Broken(f"{session}: seq {stored.seq} is a new writer's, in the middle of a batch")
    return 0


def acknowledged(said: Iterable[str]) -> dict[SessionId, int]:
    """The last seq that a storm has said was stored, by session."""
    last: dict[SessionId, int] = {}
    for answer in said:
        name, _, seq = answer.split(" ")
        last[SessionId(name)] = int(seq)
    return last


class Killing:
    """A writer of eight sessions, killed at random."""

    @pytest.mark.parametrize("kills", [5, pytest.param(50, marks=pytest.mark.campaign)])
    def test_no_acknowledged_event_is_lost_when_the_writer_is_killed(
        self, store: StoreUnderTest, kills: int
    ) -> None:
        rng = random.Random(5)
        with needs.children(store) as children:
            sessions = [begin(store).session for _ in range(SESSIONS)]
            for kill in range(kills):
                storm = children.start("storm", kill, *sessions)
                said = [storm.line() for _ in range(rng.randrange(1, 200))]
                storm.kill()
                last = acknowledged([*said, *storm.lines()])
                for session in sessions:
                    assert intact(store.log, session) > last.get(session, 0)
                    assert store.log.head(session).next_seq > last.get(session, 0)
