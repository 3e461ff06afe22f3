"""What is of watchers only: sessions that see a frame every second, and decide each time whether to speak."""

from typing import Literal

from msgspec import Struct

from ..ids import Operation, Seq
from ..units import Millis
from .base import Event

WatchAction = Literal["silence", "response", "delegate"]
DelegationKind = Literal["chat", "image", "edit", "router", "stub"]
SummaryKind = Literal["mid", "long"]


class WatchOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a server's watchers watch.

    `force_silence`: the model is asked nothing before there has been a query. `memory`: a chunk of
    `chunk_frames` frames that is over is summed up, and `long_every` of these summaries in one more, of which
    the latest `long_window` are kept. A frame stands for `frame_ms`, and the model may reduce it to
    `max_pixels`. A reply that is at least `dedup_threshold` like the one before is silence. `summarizer`:
    another model than the one that watches sums up. `delegation` None: nothing is delegated.
    """

    persona: str = "default"
    force_silence: bool = True
    memory: bool = True
    chunk_frames: int = 100
    frame_ms: int = 1_000
    max_pixels: int = 262_144
    dedup_threshold: float = 1.0
    long_every: int = 5
    long_window: int = 15
    max_tokens: int = 128
    temperature: float = 0.8
    summary_tokens: int = 4_000
    summarizer: bool = False
    delegation: DelegationKind | None = None
    delegation_tokens: int = 512
    idle_s: float = 3_600.0


class FrameObserved(Event, frozen=True, kw_only=True):
    """A frame came; its blob holds the file. It counts if the tick succeeds that it is of."""

    media_type: Literal["image/jpeg", "image/png"]


class TickBegan(Event, frozen=True, kw_only=True):
    """Frames came, together one moment to decide about. `query` is what the user wants to know from here on;
    None: what he wanted before. `skipped`: the model is not asked. `size`: bytes of the frames."""

    tick: int
    frames: tuple[Seq, ...]
    size: int
    query: str | None = None
    skipped: bool = False


class ModelWrote(Event, frozen=True, kw_only=True):
    """A piece of what a model writes, for what asked it: a tick, a summary or a delegation."""

    operation: Operation
    index: int
    text: str


class ActionDecided(Event, frozen=True, kw_only=True):
    """The end of a tick. `raw` is how the model is told of it later; `reported` are the delegations whose end
    the client is told of with it, and `task` is the one that it begins. `repeated`: it is silence because the
    model said again what it had said last."""

    tick: int
    action: WatchAction
    text: str = ""
    question: str | None = None
    raw: str = ""
    skipped: bool = False
    repeated: bool = False
    reported: tuple[int, ...] = ()
    task: int | None = None


class TickFailed(Event, frozen=True, kw_only=True):
    """The model did not answer. The session is as it was before the tick."""

    tick: int
    code: str
    message: str


class ChunkClosed(Event, frozen=True, kw_only=True):
    """A chunk of the frames is full: the next ones begin a new one."""

    chunk: int


class SummaryAsked(Event, frozen=True, kw_only=True):
    """A chunk (`mid`), or the summaries of several up to it (`long`), are being summed up."""

    kind: SummaryKind
    chunk: int
    attempt: int = 1


class MidTermAdded(Event, frozen=True, kw_only=True):
    """What happened in a chunk, from its first second to its last."""

    chunk: int
    from_ms: Millis
    until_ms: Millis
    text: str


class LongTermAdded(Event, frozen=True, kw_only=True):
    """What happened in several chunks; it takes the place of their summaries."""

    chunk: int
    from_ms: Millis
    until_ms: Millis
    text: str


class SummaryFailed(Event, frozen=True, kw_only=True):
    """`final`: it is not tried again, and what was to be summed up is forgotten."""

    kind: SummaryKind
    chunk: int
    code: str
    message: str
    final: bool


class DelegationSubmitted(Event, frozen=True, kw_only=True):
    """A question was given to another model: one that answers, makes a picture, or changes what is seen."""

    task: int
    kind: DelegationKind
    question: str


class DelegationReady(Event, frozen=True, kw_only=True):
    """Its answer is there: the model that watches knows of it from the next tick on.

    Where it is a picture the blob holds the file, of that `media_type`.
    """

    task: int
    digest: str
    media_type: Literal["", "image/jpeg", "image/png"] = ""


class DelegationFailed(Event, frozen=True, kw_only=True):
    """There will be no answer."""

    task: int
    code: str
    message: str


class PersonaSet(Event, frozen=True, kw_only=True):
    """How the watcher behaves from here on. What it has seen stays."""

    persona: str
