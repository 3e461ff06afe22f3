"""What recorded conversations amount to: counts, sizes, times. Several lives add up.

Times are the server's own: an answer's first audio counts from the answer's beginning (ResponseCreated, under
server VAD the end of the user's turn) to the moment at which its first audio was handed to the client's
socket. What was heard is the fold of the log, as everywhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from antiphon.actors.session.evolve import refold
from antiphon.actors.session.fence import BROKE_IN
from antiphon.actors.session.state import Session
from antiphon.events.codec import encode
from antiphon.events.envelope import Draft, Stored
from antiphon.events.ids import ResponseId, SessionId
from antiphon.events.units import SAMPLE_RATE
from antiphon.events.vocabulary import (
    EpochAdvanced,
    FramesSent,
    InputAppended,
    ResponseCreated,
    ResponseEnded,
    StageMeasured,
)
from antiphon.projections.measures import Answer, Measures, Unspoken, step
from antiphon.projections.summary import SessionClocks, of_session

from .lines import type_of
from .sound import heard_samples


class Kind(Struct, frozen=True):
    """Events of one type: how many, their bytes as stored (without frames), and those of their audio."""

    count: int
    bytes: int
    audio_bytes: int


class Spread(Struct, frozen=True):
    """How a measured time was distributed, in ms. The p90 is a value that was measured."""

    count: int
    median_ms: float
    p90_ms: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """None of nothing."""
        if not values:
            return None
        ordered, n = sorted(values), len(values)
        median = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
        return cls(n, round(float(median), 1), round(float(ordered[-(-9 * n // 10) - 1]), 1))


class OfLife(Struct, frozen=True, kw_only=True):
    """How long the answers of one life of a session took."""

    session: SessionId
    life: int
    clocks: SessionClocks


class Stats(Struct, frozen=True, kw_only=True):
    """Seconds of audio: `input` from users, `generated` by stages, `sent` to clients, `heard` by users.

    `clocks`: how long answers took, on the stages' clocks and on the server's. `each`: the same life by life.
    """

    lives: int
    events: int
    seconds: float
    kinds: dict[str, Kind]
    input_s: float
    generated_s: float
    sent_s: float
    heard_s: float
    responses: int
    outcomes: dict[str, int]
    interruptions: int
    first_audio: Spread | None
    stages: dict[str, Spread]
    clocks: SessionClocks
    each: tuple[OfLife, ...]


class Counting:
    """Told of lives one by one."""

    def __init__(self) -> None:
        self._lives = self._events = self._wall_ns = self._interruptions = 0
        self._counts: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        self._audio_bytes: Counter[str] = Counter()
        self._samples: Counter[str] = Counter()
        self._outcomes: Counter[str] = Counter()
        self._first_audio: list[float] = []
        self._stages: defaultdict[str, list[float]] = defaultdict(list)
        self._measures: list[Measures] = []
        self._each: list[OfLife] = []

    def add(self, session: SessionId, events: Iterable[Stored]) -> None:
        """Count one life. What the iterable raises is passed on; what came before counts."""
        life = _Life(session)
        self._lives += 1
        try:
            for stored in events:
                self._count(stored)
                life.fold(stored)
        finally:
            self._wall_ns += life.wall_ns
            self._first_audio += life.first_audio_ms
            self._measures.append(life.measures)
            self._each.append(
                OfLife(session=session, life=life.state.incarnation, clocks=of_session(life.measures))
            )
            for played in life.state.played:
                self._samples["generated"] += played.generated
                self._samples["sent"] += played.sent
                self._samples["heard"] += heard_samples(played, life.state.mono_ns)

    def stats(self) -> Stats:
        seconds = {
            name: self._samples[name] / SAMPLE_RATE for name in ("input", "generated", "sent", "heard")
        }
        spreads = {name: Spread.of(values) for name, values in sorted(self._stages.items())}
        return Stats(
            lives=self._lives,
            events=self._events,
            seconds=self._wall_ns / 1e9,
            kinds={
                name: Kind(count, self._bytes[name], self._audio_bytes[name])
                for name, count in self._counts.most_common()
            },
            input_s=seconds["input"],
            generated_s=seconds["generated"],
            sent_s=seconds["sent"],
            heard_s=seconds["heard"],
            responses=self._counts[ResponseCreated.__name__],
            outcomes=dict(self._outcomes.most_common()),
            interruptions=self._interruptions,
            first_audio=Spread.of(self._first_audio),
            stages={name: spread for name, spread in spreads.items() if spread is not None},
            clocks=of_session(_together(self._measures)),
            each=tuple(self._each),
        )

    def _count(self, stored: Stored) -> None:
        name = type_of(stored.event)
        self._events += 1
        self._counts[name] += 1
        self._bytes[name] += _stored_bytes(stored)
        self._audio_bytes[name] += 0 if stored.blob is None else stored.blob.length
        match stored.event:
            case InputAppended(samples=samples):
                self._samples["input"] += samples
            case ResponseEnded(outcome=outcome):
                self._outcomes[outcome] += 1
            case EpochAdvanced(reason=reason):
                self._interruptions += reason in BROKE_IN
            case StageMeasured(name=measured, value_ms=value):
                self._stages[measured].append(value)


def _together(measured: Sequence[Measures]) -> Measures:
    """Those of several lives as if they were one."""
    answers: list[Answer] = []
    first_token: list[int] = []
    gaps: list[int] = []
    recognise: list[int] = []
    for one in measured:
        answers += one.answers
        first_token += one.unspoken.first_token_ms
        gaps += one.unspoken.gaps_us
        recognise += one.unspoken.recognise_ms
    return Measures(
        settled=tuple(answers), unspoken=Unspoken(tuple(first_token), tuple(gaps), tuple(recognise))
    )


def _stored_bytes(stored: Stored) -> int:
    """What the event fills in a log, without its frame."""
    encoded, _ = encode(Draft(stored.event, stored.at, None, stored.cause), 0)
    return len(encoded) + len(msgspec.msgpack.encode(stored.blob)) - 1  # encoded without a blob: one byte


class _Life:
    """One life on the way to its end."""

    def __init__(self, session: SessionId) -> None:
        self.state = Session(session)
        self.measures = Measures()
        self.first_audio_ms: list[float] = []
        self._began_wall_ns: int | None = None
        self._created_ns: dict[ResponseId, int] = {}

    @property
    def wall_ns(self) -> int:
        return 0 if self._began_wall_ns is None else self.state.at.wall_ns - self._began_wall_ns

    def fold(self, stored: Stored) -> None:
        self.state = refold(self.state, stored)
        self.measures = step(self.measures, stored)
        if self._began_wall_ns is None:
            self._began_wall_ns = stored.at.wall_ns
        match stored.event:
            case ResponseCreated(response=response):
                self._created_ns[response] = stored.at.mono_ns
            case FramesSent(audio=reported):
                for one in reported:
                    created = self._created_ns.pop(one.response, None)
                    if created is not None:
                        self.first_audio_ms.append(max(one.first_mono_ns - created, 0) / 1e6)
