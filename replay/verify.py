"""Does a log, projected again, give the frames that its clients were sent?

Each attachment reported digests of what its socket took (FramesSent). Here every event is projected again,
frames are taken up to each report, and the digests compared: of the bytes when this program projects in the
version that made them, of the meaning in every version. A log that ends anywhere is checked as far as its
reports go. A frame's audio counts as the checksum of its blob, so none is read; on request it is, and must
have that checksum: then the sound is the one that was sent, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Literal

from msgspec import Struct

from antiphon.actors.session.evolve import refold
from antiphon.actors.session.state import Session
from antiphon.events.envelope import Stored
from antiphon.events.errors import Erased
from antiphon.events.ids import Seq, SessionId
from antiphon.events.store import Log
from antiphon.events.units import SAMPLE_RATE
from antiphon.events.vocabulary import (
    AudioSpoken,
    ClientAttached,
    ClientDetached,
    ClientReplaced,
    ClientResumed,
    FramesSent,
)
from antiphon.projections.base import Digest, Projection, frame_number, seq_of
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
    this program does not have. `seconds` is how long the session lasted, `audio_s` how much of the model's
    audio was read; `erased`: it was to be, and is gone.
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
    audio_s: float = 0.0
    erased: bool = False

    @property
    def same(self) -> bool:
        return self.difference is None and not self.unknown


class _Coming(Struct, frozen=True):
    """A connection that will be there, and the number of the last frame that it needs not be shown."""

    attachment: int
    dialect: str
    after: int


def _coming(events: Iterable[Stored]) -> dict[int, list[_Coming]]:
    """Every connection of a log, by the event from which on it is shown frames."""
    found: dict[int, list[_Coming]] = {}
    for stored in events:
        event = stored.event
        if isinstance(event, ClientAttached | ClientResumed):
            after = event.after if isinstance(event, ClientResumed) else -1
            one = _Coming(event.attachment, event.dialect, after)
            found.setdefault(seq_of(after), []).append(one)
    return found


class _Shown:
    """One attachment's frames, made again."""

    def __init__(self, coming: _Coming, projection: Projection, seen: Any) -> None:
        """`seen`: a view of its dialect that has seen everything before."""
        self.attachment, self._after = coming.attachment, coming.after
        self._over = False
        self._projection = projection
        self._view: Any = projection.adopt(seen, coming.attachment)
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


class _Sound:
    """The model's audio of one life, read as it is shown; if it is `wanted`."""

    def __init__(self, log: Log, session: SessionId, incarnation: int | None, *, wanted: bool) -> None:
        self._log, self._session, self._incarnation = log, session, incarnation
        self._wanted, self.seconds, self.erased = wanted, 0.0, False

    def read(self, stored: Stored) -> None:
        """Raises Corrupt where it is not what its frames were made of."""
        if not self._wanted or not isinstance(stored.event, AudioSpoken) or stored.blob is None:
            return
        try:
            self._log.read_blob(self._session, stored.blob, incarnation=self._incarnation)
        except Erased:
            self.erased, self._wanted = True, False
        else:
            self.seconds += stored.event.samples / SAMPLE_RATE


class _Clients:
    """All connections of one life, told every event in order.

    What each is shown begins where it says that its client is; so for each dialect one view is kept that has
    seen everything, and theirs are made of it. To project from the beginning for each would take as long as
    there are connections.
    """

    def __init__(self, coming: dict[int, list[_Coming]]) -> None:
        self._coming = coming
        named = dict.fromkeys(one.dialect for there in coming.values() for one in there)
        self.unknown = [name for name in named if name not in DIALECTS]
        self._seen = {name: DIALECTS[name].begin(0) for name in named if name in DIALECTS}
        self.shown: dict[int, _Shown] = {}

    def take(self, stored: Stored) -> Difference | None:
        for one in self._coming.pop(stored.seq, ()):
            if one.dialect in self._seen:
                self.shown[one.attachment] = _Shown(one, DIALECTS[one.dialect], self._seen[one.dialect])
        event = stored.event
        if isinstance(event, FramesSent) and event.attachment in self.shown:
            difference = self.shown[event.attachment].compare(event, stored.seq)
            if difference is not None:
                return difference
        for shown in self.shown.values():
            shown.show(stored)
        if self._coming:
            for name, view in self._seen.items():
                self._seen[name], _ = DIALECTS[name].step(view, stored)
        return None

    def sum(self, what: str) -> int:
        return sum(getattr(one, what) for one in self.shown.values())


def verify(
    log: Log,
    session: SessionId,
    *,
    incarnation: int | None = None,
    audio: bool = False,
    watch: Callable[[Stored], object] = lambda stored: None,
) -> Verdict:
    """Project one life again and compare; stops at the first difference. `audio`: with the sound. `watch` is
    told of every event as it is projected.

    Raises NoSuchSession, Corrupt. Events that this program does not know are passed over.
    """
    sound = _Sound(log, session, incarnation, wanted=audio)
    clients = _Clients(_coming(log.read(session, incarnation=incarnation)))
    state, difference = Session(session), None
    first: Stored | None = None
    for stored in log.read(session, incarnation=incarnation):
        watch(stored)
        first = first or stored
        state = refold(state, stored)
        difference = clients.take(stored)
        if difference is not None:
            break
        if clients.shown:
            sound.read(stored)
    return Verdict(
        session,
        state.incarnation,
        events=state.seq,
        seconds=0.0 if first is None else (state.at.wall_ns - first.at.wall_ns) / 1e9,
        frames=clients.sum("frames"),
        reports=clients.sum("reports"),
        weaker=clients.sum("weaker"),
        unreported=clients.sum("unreported"),
        unknown=tuple(clients.unknown),
        difference=difference,
        audio_s=sound.seconds,
        erased=sound.erased,
    )
