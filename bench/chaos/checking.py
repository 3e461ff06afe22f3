"""What a client was shown and what it asked, compared with its log."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import msgspec
from crc32c import crc32c
from msgspec import Struct

from antiphon.events.envelope import Stored
from antiphon.events.errors import LogError
from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.verify import verify
from antiphon.events.vocabulary import CommandRefused, CommandsAccepted, FramesSent
from antiphon.projections.base import frame_number, seq_of
from antiphon.projections.dialects import DIALECTS
from antiphon.replay.verify import verify as verify_replay
from bench.campaigns.serving import public

from .caller import Caller, Came


class Found(Struct):
    """Of one client, or of all. Frames are those that its log says it was to see."""

    frames: int = 0
    lost: int = 0
    repeated: int = 0
    reordered: int = 0
    falsified: int = 0
    """Came, and are not what the log holds."""
    withheld: int = 0
    """Audio that a barge-in made void before it was sent: rightly not there."""
    asked: int = 0
    asked_lost: int = 0
    asked_twice: int = 0
    unsound: int = 0
    """Logs that do not verify, or project to other frames than were sent."""
    first: str = ""
    """The first thing that is wrong, for a person."""

    @property
    def wrong(self) -> int:
        counts = (self.lost, self.repeated, self.reordered, self.falsified)
        return sum((*counts, self.asked_lost, self.asked_twice, self.unsound))

    def add(self, other: Found) -> None:
        for name in self.__struct_fields__:
            if name != "first":
                setattr(self, name, getattr(self, name) + getattr(other, name))
        self.first = self.first or other.first

    def note(self, what: str) -> None:
        self.first = self.first or what


def check(log: SegmentLog, caller: Caller) -> Found:
    """Everything of one client."""
    found, session = Found(), SessionId(caller.session)
    try:
        events = list(log.read(session))
        sound = verify(log, session).sound and verify_replay(log, session).same
    except LogError as error:
        found.unsound = 1
        found.note(f"{session}: {error}")
        return found
    if not sound:
        found.unsound = 1
        found.note(f"{session}: its log is not what was written, or not what was sent")
    withheld = {n for one in events if isinstance(one.event, FramesSent) for n in one.event.withheld}
    found.withheld = len(withheld)
    for came, shown, upto in projected(events, caller.connections):
        compare(found, str(session), came, shown, withheld, upto)
    compare_asked(found, str(session), events, caller.sent)
    return found


def projected(events: list[Stored], connections: list[Came]) -> Iterator[tuple[Came, dict[int, int], int]]:
    """Of each connection that was greeted, the digests that the log amounts to for it, by number; and up to
    which number nobody else has told it to the client."""
    greeted = [one for one in connections if one.generation]
    projection = DIALECTS["duplex"]
    view, position = projection.begin(1), 0
    nobody = Came(after=greeted[-1].last if greeted else -1)
    for came, following in pairwise((*greeted, nobody)):
        begin = seq_of(came.after)
        for stored in events[position:begin]:
            view, _ = projection.step(view, stored)
        position = max(position, begin)
        seen, shown = projection.adopt(view, came.generation), dict[int, int]()
        for stored in events[position : seq_of(max(came.last, following.after)) + 1]:
            seen, frames = projection.step(seen, stored)
            for k, made in enumerate(frames):
                shown[frame_number(stored.seq, k)] = _digest(projection.encode(made), stored)
        yield came, shown, following.after


def _digest(encoded: bytes, stored: Stored) -> int:
    frame = msgspec.json.decode(encoded)
    if frame["type"] == "response.output_audio.delta" and stored.blob is not None:
        frame["delta"] = stored.blob.crc32c
    return crc32c(msgspec.json.encode(public(frame)))


def compare(found: Found, who: str, came: Came, shown: dict[int, int], withheld: set[int], upto: int) -> None:
    """Count what is wrong with what came on one connection. Frames beyond `upto` came as well, but the next
    connection was asked to tell them again."""
    seen: set[int] = set()
    latest = came.after
    for numbered, told in came.frames:
        if numbered in seen or numbered <= came.after:
            found.repeated += 1
            found.note(f"{who}: frame {numbered} came twice")
        elif numbered < latest:
            found.reordered += 1
            found.note(f"{who}: frame {numbered} came after {latest}")
        if shown.get(numbered) != told:
            found.falsified += 1
            found.note(f"{who}: frame {numbered} is not what the log holds")
        seen.add(numbered)
        latest = max(latest, numbered)
    due = {one for one in shown if came.after < one <= upto}
    found.frames += len(due)
    if missing := sorted(due - seen - withheld):
        found.lost += len(missing)
        found.note(f"{who}: frames {missing[:5]} after {came.after} did not come")


def compare_asked(found: Found, who: str, events: list[Stored], sent: list[str]) -> None:
    """Whatever the client asked was taken in once, and in its order."""
    taken: list[str] = []
    for stored in events:
        match stored.event:
            case CommandsAccepted(client_events=ids):
                taken += ids
            case CommandRefused(client_event=str(one)):
                taken.append(one)
    known, asked = set(taken), set(sent)
    mine = [one for one in taken if one in asked]
    found.asked += len(sent)
    found.asked_twice += len(mine) - len(set(mine))
    lost = [one for one in sent if one not in known]
    found.asked_lost += len(lost)
    if lost:
        found.note(f"{who}: {len(lost)} of {len(sent)} were not taken in, the first {lost[0]}")
    if len(mine) != len(set(mine)):
        found.note(f"{who}: something asked was taken in twice")
    if not lost and mine != sent:
        found.reordered += 1
        found.note(f"{who}: what it asked was taken in in another order")
