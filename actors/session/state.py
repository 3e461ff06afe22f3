"""What a session is: the fold of its log, and nothing besides.

One frozen Struct per idea; the idea's module folds it. Nothing that can be computed from a slice is stored
in it. Sample counts are positions on the session's input clock, or on a response's own clock, at 24 kHz.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from antiphon.events.ids import Fence, ItemId, Operation, ResponseId, Seq, SessionId, derived_id
from antiphon.events.units import SAMPLE_RATE, Moment, ms_to_samples
from antiphon.events.vocabulary import Abilities, Config, Item, PlaybackPolicy, Terms

if TYPE_CHECKING:
    from .question import Question

Phase = Literal["new", "open", "closed"]


class InputBuffer(Struct, frozen=True, gc=False):
    """Audio the user sent: how far it goes, and from where on it belongs to no item yet.

    `turn`: where input streams, that of the answer to the open item; 0: nothing of it has been said.
    """

    appended: int = 0
    open_from: int = 0
    last_mono_ns: int = 0
    turn: int = 0
    submitted: Operation = Operation(-1)
    """The latest piece of input, as the operation by which a continuously hearing stage knows it."""


class Verdicts(Struct, frozen=True, gc=False):
    """What was said of the input that belongs to no item yet: samples that are speech and that are none.

    `over_ms` of the speech came over the answer under way. All 0 where nobody judges.
    """

    speech: int = 0
    silence: int = 0
    over_ms: int = 0


LONGEST_UTTERANCE = 5 * 60 * SAMPLE_RATE
"""No stage is given more audio at once: of what is longer, the end."""
NOT_SAID = ("silence", "acknowledgement")
"""Outcomes of a commit that make no item of the conversation."""
STAGE_LOST = "stage_lost"
"""Why something failed: the process of a stage has gone."""


class Voice(Struct, frozen=True, gc=False):
    """Where the hysteresis over the voice scores stands.

    `onset` is where the present run of speech windows began (before it is long enough to count).
    `silence` counts samples since the last window above the threshold, while the user speaks.
    """

    scored: int = 0
    onset: int | None = None
    run: int = 0
    silence: int = 0
    speaking: ItemId | None = None
    item_from: int = 0
    paused: bool = False
    scored_mono_ns: int = 0


class Recognition(Struct, frozen=True, gc=False):
    """A request to understand an utterance; `text` once the stage answered."""

    operation: Operation
    fence: Fence
    item: ItemId
    from_sample: int
    until: int
    text: str | None = None
    asked_mono_ns: int = 0


class Input(Struct, frozen=True, gc=False):
    """Recognitions of the utterance being spoken and of committed items that still lack their text."""

    recognitions: tuple[Recognition, ...] = ()
    untranscribed: tuple[ItemId, ...] = ()


class Unit(Struct, frozen=True, gc=False):
    """Input that a stage was given as one unit: [from_sample, until), then `silence` samples of zeros."""

    operation: Operation
    fence: Fence
    from_sample: int
    until: int
    silence: int = 0
    final: bool = False
    force_listen: bool = False
    images: tuple[Seq, ...] = ()
    next_index: int = 0
    asked_mono_ns: int = 0


class Held(Struct, frozen=True, gc=False):
    """A committed item that the stage was not given wholly. `due`: with its end the user's turn ends."""

    item: ItemId
    from_sample: int
    until: int
    due: bool = False
    client_event: str | None = None


class Units(Struct, frozen=True, gc=False):
    """Where a stage that hears in units stands. See units.py and continuation.py for how it moves.

    Input up to `given` was given, and nothing of the open input before `floor` will be. `void` is the unit
    that a cancel overtook, until the next one is given. Held audio up to `wanted` belongs to the answer under
    way. `broken`: a unit failed, and nothing is given before the client says more.
    """

    given: int = 0
    floor: int = 0
    flight: Unit | None = None
    void: Unit | None = None
    held: tuple[Held, ...] = ()
    wanted: int = 0
    broken: bool = False
    images: tuple[tuple[Seq, int], ...] = ()
    """Not yet given: the ImageReceived, and at which sample it came."""
    awaiting: bool = False
    """The user's turn was ended and the model has not answered it."""
    silences: int = 0
    """Units of nothing but silence since the last that had input."""
    paced_mono_ns: int = 0
    """When the last unit was given; of one made of silence, when it should have been."""


class Proposal(Struct, frozen=True, gc=False):
    """A configuration that the stage must take. Input before `until` is given first; then it is asked."""

    generation: int
    config: Config
    until: int
    client_event: str | None = None
    operation: Operation | None = None
    asked_mono_ns: int = 0


class Active(Struct, frozen=True, gc=False):
    """The response that is being generated. `operation` is None until the stage was asked, and where the
    response comes of the units of a stage that hears in units."""

    response: ResponseId
    item: ItemId
    fence: Fence
    modalities: tuple[str, ...]
    instructions: str | None = None
    max_output_tokens: int | None = None
    operation: Operation | None = None
    next_index: int = 0
    moved_mono_ns: int = 0
    """When the stage was asked, or last said something."""
    voice: str | None = None
    temperature: float | None = None
    speed: float | None = None
    answers: ItemId | None = None
    calls: tuple[ItemId, ...] = ()
    started: bool = False
    """EffectStarted stands in the log: asking again could do something outside twice."""


class Ending(Struct, frozen=True, gc=False):
    """An end of the user's turn that a continuously hearing stage was told of and has not answered."""

    operation: Operation
    next_index: int = 0


class Turns(Struct, frozen=True, gc=False):
    """Who speaks. `owed`: an answer is due as soon as the present one ends, and so is one to each of the
    `deferred` items. `ended` counts the turns that the model has ended.

    `answered` are the latest operations whose answer the stage has finished: nothing new can come of them.
    """

    active: Active | None = None
    owed: bool = False
    deferred: tuple[ItemId, ...] = ()
    ended: int = 0
    answered: tuple[Operation, ...] = ()
    listened: Operation = Operation(-1)
    listened_index: int = 0
    endings: tuple[Ending, ...] = ()


class Mark(Struct, frozen=True, gc=False):
    """A piece of text and where its audio begins on the response's clock."""

    from_sample: int
    text: str


class Played(Struct, frozen=True, gc=False):
    """One response's cursors: generated, sent, heard. See playback.py for how they move."""

    response: ResponseId
    item: ItemId
    audible: bool = True
    """False: asked for as text only, which is heard as it is shown."""
    policy: PlaybackPolicy = "estimate"
    generated: int = 0
    sent: int = 0
    first_mono_ns: int | None = None
    acknowledged_ms: int | None = None
    estimated_ms: int | None = None
    cap_ms: int | None = None
    played_ms: int = 0
    ended: bool = False
    whole: bool = False
    """It ended as completed, or at its limit."""
    interrupted: bool = False
    marks: tuple[Mark, ...] = ()


class Entry(Struct, frozen=True, gc=False):
    """An item in its place. An assistant's words stand in its response's marks, not here."""

    item: Item
    response: ResponseId | None = None
    status: Literal["completed", "in_progress", "incomplete"] = "completed"
    shared: bool = True
    """False for an out-of-band response: not part of the conversation the model sees."""


class Attached(Struct, frozen=True, gc=False):
    """Connections: the one that may command (0: none), how many there have been, and the number of the last
    frame that the latest one has reported as sent, and has acknowledged.

    By the hashes `token` (b"": by none) and `former_tokens` a client can come back.
    """

    current: int = 0
    count: int = 0
    reported: int = -1
    acknowledged: int = -1
    token: bytes = b""
    former_tokens: tuple[bytes, ...] = ()
    """What connections were given since the last one that is known to have had its answer, and its own."""


class Accepted(Struct, frozen=True, gc=False):
    """The client's ids of the latest frames taken in, from the present connection and from those before."""

    now: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    last: str | None = None


class Lease(Struct, frozen=True, gc=False):
    """How long the session may last. Wall time is of the opening; `left_mono_ns` is when the last client went
    or, if that was before the present writer, when that began; None: one is connected."""

    terms: Terms = Terms()
    opened_wall_ns: int = 0
    left_mono_ns: int | None = None


class Refusals(Struct, frozen=True, gc=False):
    """How many commands were refused in the current window."""

    since_mono_ns: int = 0
    count: int = 0


class Slice(Struct, frozen=True, gc=False):
    """What a mode remembers of its own, in a Struct of its own."""

    def asks(self, state: Session) -> Question | None:
        """What the model is asked now, where the mode puts that in its own way; None: the conversation."""
        return None


class Session(Struct, frozen=True, gc=False):
    """Everything the server knows of a session."""

    id: SessionId
    incarnation: int = 0
    mode: str = "duplex"
    """Which tables it goes by (mode.py)."""
    phase: Phase = "new"
    seq: Seq = Seq(0)
    """The seq the next event will get."""
    at: Moment = Moment(0, 0)
    """When the latest event happened; the next one does not happen earlier."""
    boot: str = ""
    writer_epoch: int = 0
    abilities: Abilities = Abilities(stage="", hears="utterances")
    config: Config = Config()
    generation: int = 0
    proposals: tuple[Proposal, ...] = ()
    fence: Fence = Fence(SessionId(""), 0, 0, 0, None)
    buffer: InputBuffer = InputBuffer()
    verdicts: Verdicts = Verdicts()
    units: Units = Units()
    voice: Voice = Voice()
    input: Input = Input()
    turns: Turns = Turns()
    played: tuple[Played, ...] = ()
    """Responses in order of creation; the last few may still move, all are kept for late acknowledgements."""
    entries: tuple[Entry, ...] = ()
    attached: Attached = Attached()
    accepted: Accepted = Accepted()
    lease: Lease = Lease()
    principal: str | None = None
    opening: tuple[tuple[str, int], ...] = ()
    """Stages that were asked to take the session in and have not answered, and since when (monotonic ns)."""
    away: tuple[tuple[str, int], ...] = ()
    """Stages whose process has gone and is awaited, and since when (monotonic ns)."""
    holding: frozenset[str] = frozenset()
    """The stages that have the session and have not let it go."""
    refusals: Refusals = Refusals()
    own: Slice | None = None
    """The slice of the session's mode, where that has one."""

    def new_id(self, kind: str, k: int = 0) -> str:
        """An id for the k-th thing that the next event names."""
        return derived_id(kind, self.id, self.incarnation, self.seq, k)

    @property
    def following_fence(self) -> Fence:
        """The fence that holds once everything of the current epoch is void."""
        return replace(self.fence, epoch=self.fence.epoch + 1, response=None)

    @property
    def unit(self) -> int:
        """Samples of one unit; 0 where input does not come in units."""
        return ms_to_samples(self.abilities.unit_ms)

    @property
    def streams(self) -> bool:
        """Whether input goes to the model as it comes, so that nothing of it is left to be deferred."""
        heard = self.abilities.hears == "continuously"
        return heard and (self.config.auto_response or not self.abilities.unit_ms)

    def entry(self, item: ItemId) -> Entry | None:
        return next((entry for entry in reversed(self.entries) if entry.item.id == item), None)

    def playback(self, response: ResponseId) -> Played | None:
        for played in reversed(self.played):
            if played.response == response:
                return played
        return None

    @property
    def mono_ns(self) -> int:
        return self.at.mono_ns

    @property
    def last_item(self) -> ItemId | None:
        return self.entries[-1].item.id if self.entries else None


def put_played(state: Session, moved: Played) -> Session:
    """The session with one response's cursors replaced."""
    if state.played and state.played[-1].response == moved.response:  # nearly always the newest
        return replace(state, played=(*state.played[:-1], moved))
    kept = tuple(moved if one.response == moved.response else one for one in state.played)
    return replace(state, played=kept)
