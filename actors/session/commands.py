"""Everything that may be asked of a session, in the imperative. Clients, stages and timers all come this way.

`client_event` is the client's own id of the frame that asked, echoed in a refusal.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from antiphon.events.ids import ItemId, Operation, ResponseId
from antiphon.events.vocabulary import Abilities, AudioSent, Config, Item, TurnDetection

StageRole = Literal["voice", "model"]
TimerName = Literal["silence", "playout", "stage"]


class Command(Struct, frozen=True, kw_only=True, gc=False):
    """Something that may be asked."""

    client_event: str | None = None


# --- the life of the session ------------------------------------------------------------------------------


class OpenSession(Command, frozen=True, kw_only=True):
    """Begin. Asked once, by the host, of a session that has no events."""

    incarnation: int
    mode: str
    abilities: Abilities
    config: Config
    principal: str | None = None


class OpenWriter(Command, frozen=True, kw_only=True):
    """An actor took over writing. The first thing appended under every lease."""

    writer_epoch: int
    code: str
    boot: str
    projections: dict[str, int]


class Configure(Command, frozen=True, kw_only=True):
    """Change what is given, keep the rest. `echo` is merged into the client's own session object."""

    instructions: str | UnsetType = UNSET
    voice: str | UnsetType = UNSET
    output_modalities: tuple[str, ...] | UnsetType = UNSET
    turn_detection: TurnDetection | UnsetType | None = UNSET
    transcription: bool | UnsetType = UNSET
    max_output_tokens: int | UnsetType | None = UNSET
    temperature: float | UnsetType | None = UNSET
    echo: dict[str, Any] = {}


class CloseSession(Command, frozen=True, kw_only=True):
    """End as somebody wants it: `client`, `disconnected`, `shutdown`."""

    reason: str


class Attach(Command, frozen=True, kw_only=True):
    """Bind a connection. Numbers are given in order of arrival."""

    dialect: str
    client: str = ""


class Detach(Command, frozen=True, kw_only=True):
    """A connection ended."""

    attachment: int
    reason: str
    code: int | None = None


class ReportSent(Command, frozen=True, kw_only=True):
    """What an attachment's socket has accepted: see FramesSent, whose members these are."""

    attachment: int
    through: int
    projection: int = 0
    digest: bytes = b""
    meaning: bytes = b""
    withheld: tuple[int, ...] = ()
    audio: tuple[AudioSent, ...] = ()


class FireTimer(Command, frozen=True, kw_only=True):
    """A timer of timers.py is due."""

    name: TimerName


# --- input ------------------------------------------------------------------------------------------------


class AppendAudio(Command, frozen=True, kw_only=True):
    """PCM of the user: mono signed 16-bit little-endian, 24 kHz, whole samples.

    `sent` is a report that was due: together the two are one append to the log.
    """

    pcm: bytes
    sent: ReportSent | None = None


class CommitInput(Command, frozen=True, kw_only=True):
    """Make the uncommitted audio the user's item."""


class ClearInput(Command, frozen=True, kw_only=True):
    """Throw the uncommitted audio away. Nothing to clear is no mistake."""


# --- turns, playback, history -----------------------------------------------------------------------------


class CreateResponse(Command, frozen=True, kw_only=True):
    """Answer now. Options hold for this response only; None means the session's."""

    modalities: tuple[str, ...] | None = None
    instructions: str | None = None
    max_output_tokens: int | None = None
    metadata: dict[str, str] | None = None
    in_history: bool = True


class CancelResponse(Command, frozen=True, kw_only=True):
    """Stop the named response, or the one that is speaking.

    A cancel that names a response which is no longer speaking is refused, not applied to whatever is
    speaking by now; without a name it means the current one.
    """

    response: ResponseId | None = None


class AcknowledgePlayback(Command, frozen=True, kw_only=True):
    """The client's user has heard this much of a response. Late, repeated and disordered ones are fine."""

    response: ResponseId
    heard_ms: int


class TruncateItem(Command, frozen=True, kw_only=True):
    """Nothing of the assistant's item after `audio_end_ms` was heard. Clamped to what was generated."""

    item: ItemId
    audio_end_ms: int
    content_index: int = 0


class AddItem(Command, frozen=True, kw_only=True):
    """Put an item into the conversation, after `previous`; "" is the end, None the very beginning."""

    item: Item
    previous: ItemId | None = ItemId("")


class RemoveItem(Command, frozen=True, kw_only=True):
    """Take an item out of the conversation."""

    item: ItemId


# --- what stages say --------------------------------------------------------------------------------------


class RecordStage(Command, frozen=True, kw_only=True):
    """A stage took the session in, would not, let it go, or died."""

    stage: StageRole
    what: Literal["opened", "refused", "released", "lost"]
    engine: str = ""
    code: str = ""
    message: str = ""
    retryable: bool = False


class RecordScores(Command, frozen=True, kw_only=True):
    """Speech probabilities of the windows that end at `until_sample`."""

    until_sample: int
    window: int
    permille: tuple[int, ...]


class StageWord(Command, frozen=True, kw_only=True):
    """Base of what the model stage says of an operation. `epoch` is the one it was asked in."""

    operation: Operation
    index: int
    epoch: int
    last: bool


class RecordHeard(StageWord, frozen=True, kw_only=True):
    """The recogniser understood `text`."""

    text: str


class RecordRoute(StageWord, frozen=True, kw_only=True):
    """The stage says who answers."""

    route: str


class RecordSpeech(StageWord, frozen=True, kw_only=True):
    """The stage said `text`, and `pcm` is its audio (24 kHz mono pcm16)."""

    text: str
    pcm: bytes


class RecordConsumed(StageWord, frozen=True, kw_only=True):
    """A piece of input was heard and nothing is said of it."""


class RecordMeasure(StageWord, frozen=True, kw_only=True):
    """The stage measured itself."""

    name: str
    value_ms: int


class RecordFinish(StageWord, frozen=True, kw_only=True):
    """The answer is complete, or cut at its token limit."""

    why: Literal["done", "length"]
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class RecordFailure(StageWord, frozen=True, kw_only=True):
    """The stage did not do as asked."""

    code: str
    message: str
    retryable: bool = False
