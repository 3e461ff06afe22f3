"""Does a log, projected again, give the frames that its clients were sent?

Each attachment reported digests of what its socket took (FramesSent). Here every event is projected again,
frames are taken up to each report, and the digests compared: of the bytes when this program projects in the
version that made them, of the meaning in every version. A log that ends anywhere is checked as far as its
reports go. Reads no audio: a frame's audio counts as the checksum of its blob.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct

from antiphon.actors.session.evolve import refold
from antiphon.actors.session.state import Session
from antiphon.events.envelope import Stored
from antiphon.events.ids import Seq, SessionId
from antiphon.events.store import Log
from antiphon.events.vocabulary import (
    ClientAttached,
    ClientDetached,
    ClientReplaced,
    ClientResumed,
    FramesSent,
)
from antiphon.projections.base import Digest, Projection, frame_number
from antiphon.projections.dialects import DIALECTS

What = Literal["bytes", "meaning"]

SHOWN = 100
"""Frames of a difference that are told; a quarter of a second seldom has more."""


class Difference(Struct, frozen=True):
    """The first report whose digest is not that of the frames projected now.

    `seq` is the report's place in the log. What differs lies among the frames with numbers above `after` and
    up to `through`; `frames` are the first of those, as they are made now.
    """

    attachment: int
    what: What
    seq: Seq
    after: int
    through: int
    frames: tuple[bytes, ...]


class Verdict(Struct, frozen=True):
    """What a verification saw of one life of a session.

    `frames` were compared with `reports` digests; `unreported` frames follow the last report of their
    attachment (or were sent before there were digests): nobody can say of those. `weaker` reports come from
    another version of the projection, so that only the meaning was compared. `unknown` names dialects that
    this program does not have. `seconds` is how long the session lasted.
    """

    session: SessionId
    incarnation: int
    events: int
    seconds: float
    frames: int
    reports: int
    weaker: int
    unreported: int
    unknown: tuple[str, ...]
    difference: Difference | None

    @property
    def same(self) -> bool:
        return self.difference is None and not self.unknown


class _Shown:
    """One attachment's frames, made again."""

    def __init__(self, attachment: int, projection: Projection, after: int = -1) -> None:
        """`after`: the client had the frames up to that number before."""
        self.attachment, self._after = attachment, after
        self._over = False
        self._projection = projection
        self._view: Any = projection.begin(attachment)
        self._digest = Digest()
        self._ahead: deque[tuple[int, bytes, bytes]] = deque()
        self._withheld: set[int] = set()
        self._through = -1
        self.frames = self.reports = self.weaker = 0

    def show(self, stored: Stored) -> None:
        projection, event = self._projection, stored.event
        if self._over:
            return
        self._view, frames = projection.step(self._view, stored)
        for k, frame in enumerate(frames):
            number = frame_number(stored.seq, k)
            if number > self._after:
                self._ahead.append((number, projection.encode(frame), projection.meaning(frame, stored)))
        if isinstance(event, ClientReplaced | ClientDetached) and event.attachment == self.attachment:
            self._over = True

    def compare(self, report: FramesSent, seq: Seq) -> Difference | None:
        """Take the frames up to the report. None when they are what was sent, or when it has no digest."""
        if not report.digest:
            return None
        self._withheld.update(report.withheld)
        taken: list[bytes] = []
        while self._ahead and self._ahead[0][0] <= report.through:
            number, encoded, meaning = self._ahead.popleft()
            if number not in self._withheld:
                self._digest.add(encoded, meaning)
                taken.append(encoded)
        after, self._through = self._through, report.through
        what = self._differs(report)
        if what is not None:
            shown = tuple(taken[:SHOWN])
            return Difference(report.attachment, what, seq, after, report.through, shown)
        self.frames += len(taken)
        self.reports += 1
        return None

    def _differs(self, report: FramesSent) -> What | None:
        if report.meaning != self._digest.of_meaning():
            return "meaning"
        if report.projection != self._projection.version:
            self.weaker += 1
            return None
        return None if report.digest == self._digest.of_bytes() else "bytes"

    @property
    def unreported(self) -> int:
        return len(self._ahead)


def _attached(
    event: ClientAttached | ClientResumed, projection: Projection, before: Iterable[Stored]
) -> _Shown:
    """What a client that came at that place of the log is shown from there on."""
    after = event.after if isinstance(event, ClientResumed) else -1
    shown = _Shown(event.attachment, projection, after)
    for stored in before:
        shown.show(stored)
    return shown


def verify(log: Log, session: SessionId, *, incarnation: int | None = None) -> Verdict:
    """Project one life again and compare; stops at the first difference.

    Raises NoSuchSession, Corrupt. Events that this program does not know are passed over.
    """
    state = Session(session)
    shown: dict[int, _Shown] = {}
    unknown: dict[str, None] = {}
    difference: Difference | None = None
    first: Stored | None = None
    for stored in log.read(session, incarnation=incarnation):
        first = first or stored
        state = refold(state, stored)
        event = stored.event
        if isinstance(event, ClientAttached | ClientResumed):
            if (projection := DIALECTS.get(event.dialect)) is None:
                unknown[event.dialect] = None
            else:
                before = log.read(session, incarnation=incarnation, stop=stored.seq)
                shown[event.attachment] = _attached(event, projection, before)
        elif isinstance(event, FramesSent) and event.attachment in shown:
            difference = shown[event.attachment].compare(event, stored.seq)
            if difference is not None:
                break
        for one in shown.values():
            one.show(stored)
    attached = shown.values()
    return Verdict(
        session,
        state.incarnation,
        events=state.seq,
        seconds=0.0 if first is None else (state.at.wall_ns - first.at.wall_ns) / 1e9,
        frames=sum(one.frames for one in attached),
        reports=sum(one.reports for one in attached),
        weaker=sum(one.weaker for one in attached),
        unreported=sum(one.unreported for one in attached),
        unknown=tuple(unknown),
        difference=difference,
    )
