"""What a stream remembers beside what every session does."""

from __future__ import annotations

from msgspec import Struct

from antiphon.actors.session.question import Line, Piece, Question
from antiphon.actors.session.state import Session, Slice
from antiphon.events.ids import Seq
from antiphon.events.vocabulary import Labels, VideoFrameReceived, VideoOptions, VideoQueried


class Kept(Struct, frozen=True, gc=False):
    """An image that can be shown with a question: its VideoFrameReceived, and when that was."""

    seq: Seq
    size: int
    labels: Labels
    received_ms: int


def keep(kept: tuple[Kept, ...], event: VideoFrameReceived, seq: Seq, mono_ns: int) -> tuple[Kept, ...]:
    """The images there are, with a new one and without those that went for it."""
    left = tuple(one for one in kept if one.seq not in event.evicted) if event.evicted else kept
    return (*left, Kept(seq, event.size, event.labels, mono_ns // 1_000_000))


class Stream(Slice, frozen=True, gc=False):
    """`kept`: oldest first. `heard_bytes`: of the sound that no question has had yet, as it came.

    `query` is the question under way, `exchange` the words of the last one that was answered, and of the
    answer. `seen_mono_ns`: when the client last said anything, or the last answer ended.
    """

    kept: tuple[Kept, ...] = ()
    heard_bytes: int = 0
    query: VideoQueried | None = None
    exchange: tuple[str, str] | None = None
    finished: bool = False
    seen_mono_ns: int = 0

    def asks(self, state: Session) -> Question | None:
        query = self.query
        if query is None:
            return None
        pieces = [Piece(image=seq) for seq in query.frames]
        if query.from_sample < query.until_sample:
            pieces.append(Piece(from_sample=query.from_sample, until_sample=query.until_sample))
        if query.text:
            pieces.append(Piece(text=query.text))
        asked = Line("user", query.text, pieces=tuple(pieces))
        return Question((*_lines(self.exchange), asked), sampling=query.sampling)


def _lines(exchange: tuple[str, str] | None) -> tuple[Line, ...]:
    return () if exchange is None else (Line("user", exchange[0]), Line("assistant", exchange[1]))


def of(state: Session) -> Stream:
    assert isinstance(state.own, Stream), "a stream has its slice from SessionOpened on"
    return state.own


def options(state: Session) -> VideoOptions:
    return state.config.video or VideoOptions()
