"""What a watcher remembers beside what every session does. Times are on the video's clock: frames, in ms."""

from __future__ import annotations

from msgspec import Struct

from antiphon.actors.session.state import Session, Slice
from antiphon.events.ids import Operation, Seq
from antiphon.events.vocabulary import DelegationKind, SummaryKind, WatchOptions


class Seen(Struct, frozen=True, gc=False):
    """A frame, by its FrameObserved, and when it was."""

    seq: Seq
    at_ms: int

    @property
    def label(self) -> str:
        return f"<{self.at_ms / 1000:.1f} seconds>"


class Remembered(Struct, frozen=True, gc=False):
    """A tick of the present chunk as the model is shown it: `query` if it was new then, and its `reply`.

    `size`: bytes of its frames.
    """

    frames: tuple[Seen, ...]
    query: str | None
    reply: str
    size: int = 0


class Present(Struct, frozen=True, gc=False):
    """The tick under way."""

    tick: int
    frames: tuple[Seen, ...]
    query: str | None
    operation: Operation
    began_mono_ns: int
    moved_mono_ns: int
    next_index: int = 0
    raw: str = ""
    size: int = 0


MOST_ASKED = 64
"""Former queries and delegations that are remembered: the latest."""
MOST_TOLD = 32
"""Answers to one query, likewise."""


class Asked(Struct, frozen=True, gc=False):
    """Something that the user wanted to know, since when, and what he was told, with when that was.

    `chunk`: in which it was asked; of a former one, in which it was given up.
    """

    query: str
    at_ms: int
    chunk: int
    told: tuple[tuple[int, str], ...] = ()
    delegated: bool = False


class Summary(Struct, frozen=True, gc=False):
    chunk: int
    from_ms: int
    until_ms: int
    text: str

    @property
    def span(self) -> str:
        return f"{self.from_ms / 1000:.1f} seconds-{self.until_ms / 1000:.1f} seconds"


class Chunk(Struct, frozen=True, gc=False):
    """A chunk that is to be summed up."""

    chunk: int
    frames: tuple[Seen, ...]


class Summing(Struct, frozen=True, gc=False):
    """The summary that is being written; `failed_mono_ns`: when that failed, if it is to be tried again."""

    kind: SummaryKind
    chunk: int
    attempt: int
    operation: Operation
    moved_mono_ns: int
    next_index: int = 0
    text: str = ""
    failed_mono_ns: int | None = None


class Delegated(Struct, frozen=True, gc=False):
    """A question that another model has. `digest` is its answer, with the picture that the event at `image`
    holds, `error` why there is none. `polls` are the ticks since."""

    task: int
    kind: DelegationKind
    question: str
    operation: Operation
    moved_mono_ns: int
    frames: tuple[Seen, ...] = ()
    next_index: int = 0
    text: str = ""
    digest: str | None = None
    image: Seq | None = None
    error: str | None = None
    polls: int = 0
    reported: bool = False

    @property
    def is_pending(self) -> bool:
        return self.digest is None and self.error is None


class Watch(Slice, frozen=True, gc=False):
    """`frames` and `ticks` count; `chunk` does from 1. `chunks` wait for their summary, `asked` are former
    queries that got an answer, and delegations that did. `last` is the latest reply that was not silence."""

    persona: str = "default"
    frames: int = 0
    ticks: int = 0
    chunk: int = 1
    present: Present | None = None
    moments: tuple[Remembered, ...] = ()
    query: Asked | None = None
    asked: tuple[Asked, ...] = ()
    last: str = ""
    chunks: tuple[Chunk, ...] = ()
    summing: Summing | None = None
    mid_term: tuple[Summary, ...] = ()
    long_term: tuple[Summary, ...] = ()
    delegated: tuple[Delegated, ...] = ()
    delegations: int = 0
    seen_mono_ns: int = 0


def of(state: Session) -> Watch:
    assert isinstance(state.own, Watch), "a watcher has its slice from SessionOpened on"
    return state.own


def options(state: Session) -> WatchOptions:
    return state.config.watch or WatchOptions()
