"""Everything that may be asked of a session, in the imperative. Clients, stages and timers all come this way;
what stages say stands in saying.py.

`client_event` is the client's own id of the frame that asked, echoed in a refusal. Where a frame asks for
several things, `part` counts all but the last of them.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, field

from antiphon.events.ids import ItemId, ResponseId, Seq, SessionId
from antiphon.events.vocabulary import (
    Abilities,
    AudioFormat,
    AudioSent,
    Config,
    Item,
    Overlap,
    PlaybackPolicy,
    Terms,
    TurnDetection,
)

# isort: off
from .saying import (
    Command as Command,
    RecordCall as RecordCall,
    RecordConsumed as RecordConsumed,
    RecordFailure as RecordFailure,
    RecordFinish as RecordFinish,
    RecordHeard as RecordHeard,
    RecordMeasure as RecordMeasure,
    RecordRoute as RecordRoute,
    RecordScores as RecordScores,
    RecordSpeech as RecordSpeech,
    RecordStage as RecordStage,
    RecordTurnEnd as RecordTurnEnd,
    StageRole as StageRole,
    StageWord as StageWord,
)
# isort: on

TimerName = Literal["silence", "playout", "stage", "continuation", "lease", "absence", "deadline"]


# --- the life of the session ------------------------------------------------------------------------------


class OpenSession(Command, frozen=True, kw_only=True):
    """Begin. Asked once, by the host, of a session that has no events."""

    incarnation: int
    mode: str
    abilities: Abilities
    config: Config
    principal: str | None = None
    terms: Terms = Terms()


class OpenWriter(Command, frozen=True, kw_only=True):
    """An actor took over writing. The first thing appended under every lease.

    `alone`: whoever was connected to the writer before is not connected to this one.
    """

    writer_epoch: int
    code: str
    boot: str
    projections: dict[str, int]
    alone: bool = False


class Configure(Command, frozen=True, kw_only=True):
    """Change what is given, keep the rest. `echo` is merged into the client's own session object."""

    instructions: str | UnsetType = UNSET
    voice: str | UnsetType = UNSET
    output_modalities: tuple[str, ...] | UnsetType = UNSET
    turn_detection: TurnDetection | UnsetType | None = UNSET
    transcription: bool | UnsetType = UNSET
    max_output_tokens: int | UnsetType | None = UNSET
    temperature: float | UnsetType | None = UNSET
    model: str | UnsetType = UNSET
    auto_response: bool | UnsetType = UNSET
    overlap: Overlap | UnsetType | None = UNSET
    playback: PlaybackPolicy | UnsetType = UNSET
    tools: tuple[dict[str, Any], ...] | UnsetType = UNSET
    tool_choice: Any = UNSET
    engine: dict[str, Any] | UnsetType = UNSET
    echo: dict[str, Any] = field(default_factory=dict)


class CloseSession(Command, frozen=True, kw_only=True):
    """End as somebody wants it: `client`, `disconnected`, `shutdown`."""

    reason: str


class Park(Command, frozen=True, kw_only=True):
    """The process stops: leave the session to the next writer, or end it if nobody may come back."""

    reason: str


class Fork(Command, frozen=True, kw_only=True):
    """What is in the log was copied from another session, up to its event `at`: go on from here."""

    session: SessionId
    incarnation: int
    source_seq: Seq


class Expire(Command, frozen=True, kw_only=True):
    """Nobody has come back to a session that no process serves."""


class Attach(Command, frozen=True, kw_only=True):
    """Bind a connection. Numbers are given in order of arrival. `token`: see ClientAttached."""

    dialect: str
    client: str = ""
    token: bytes = b""


class Resume(Command, frozen=True, kw_only=True):
    """Bind a connection in the place of an earlier one, whether that is gone or not.

    `presented` is the hash of the token that was presented, `token` that of the one to come back with next.
    `after`: see ClientResumed; None: what was acknowledged, else what was sent. `live`: what was missed is
    missed, whatever `after` says. `mode`: what kind of session the connection can go on with; "": any.
    """

    dialect: str
    presented: bytes
    token: bytes
    principal: str | None = None
    after: int | None = None
    live: bool = False
    mode: str = ""
    client: str = ""


class ConfirmClient(Command, frozen=True, kw_only=True):
    """A frame came from a connection that had resumed."""

    attachment: int


class KeepAlive(Command, frozen=True, kw_only=True):
    """The client is there."""

    attachment: int


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


class Image(Struct, frozen=True):
    """An image file as it came."""

    media_type: Literal["image/jpeg", "image/png"]
    data: bytes


class OverlapHints(Struct, frozen=True, kw_only=True):
    """What a client says of audio that it sends over an answer.

    `speech_started`: that its detector heard speech begin in it, or (False) that it began before.
    """

    action: Literal["barge_in", "listen", "drop"] | None = None
    force_barge_in: bool = False
    force_listen: bool = False
    transcript: str = ""
    speech_started: bool | None = None


class AppendAudio(Command, frozen=True, kw_only=True):
    """PCM of the user: mono signed 16-bit little-endian, 24 kHz, whole samples; and what was seen meanwhile.

    `speech`: the client's verdict, or that of its loudness; None where nobody judged. `sent` is a report that
    was due: together they are one append to the log. `earlier_events` are the client's ids of the frames
    whose audio is in it, but for the last, which is `client_event`.
    """

    pcm: bytes
    speech: bool | None = None
    images: tuple[Image, ...] = ()
    hints: OverlapHints | None = None
    sent: ReportSent | None = None
    earlier_events: tuple[str, ...] = ()


class CommitInput(Command, frozen=True, kw_only=True):
    """Make the uncommitted audio the user's item.

    `respond`: whether to answer it; None: as the session is configured. `speech=False`: nothing was said.
    `any_length`: audio that was given to the stage already, or less than 100 ms, may be committed. `final`
    False: the user goes on, and nobody answers yet. `item`: what the item is to be called.
    """

    respond: bool | None = None
    speech: bool | None = None
    any_length: bool = False
    final: bool = True
    item: ItemId | None = None


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
    voice: str | None = None
    temperature: float | None = None
    speed: float | None = None
    audio_format: AudioFormat | None = None


class CancelResponse(Command, frozen=True, kw_only=True):
    """Stop the named response, or the one that is speaking.

    A cancel that names a response which is no longer speaking is refused, not applied to whatever is
    speaking by now; without a name it means the current one. `if_any`: that there is none is no mistake.
    """

    response: ResponseId | None = None
    if_any: bool = False


class BargeIn(Command, frozen=True, kw_only=True):
    """The user breaks in: the answer is cut off, and uncommitted input is thrown away."""


class CancelInput(Command, frozen=True, kw_only=True):
    """Throw the uncommitted audio away, and cut off what is being said. The epoch moves in any case."""


class ClearOutput(Command, frozen=True, kw_only=True):
    """The client throws away audio that it has not played: of the named response, or of the latest."""

    response: ResponseId | None = None


class AppendText(Command, frozen=True, kw_only=True):
    """The user wrote something while talking."""

    text: str


class SignalTurn(Command, frozen=True, kw_only=True):
    """How a client sees the turn; passed on, never obeyed."""

    event: str
    payload: dict[str, Any] = field(default_factory=dict)


class AcknowledgeEvents(Command, frozen=True, kw_only=True):
    """The client has every frame up to this number. Refused when there is no such frame."""

    attachment: int
    through: int


class AcknowledgePlayback(Command, frozen=True, kw_only=True):
    """The client's user has heard this much of a response. Late, repeated and disordered ones are fine.

    Named by `response`, by its `item`, by both (which must agree), or by neither: then the response that is
    being played. `truncate`: nothing after it will be heard.
    """

    heard_ms: int
    response: ResponseId | None = None
    item: ItemId | None = None
    played_ms: int | None = None
    truncate: bool = False


class TruncateItem(Command, frozen=True, kw_only=True):
    """Nothing of the assistant's item after `audio_end_ms` was heard. Clamped to what was generated."""

    item: ItemId
    audio_end_ms: int
    content_index: int = 0


class AddItem(Command, frozen=True, kw_only=True):
    """Put an item into the conversation, after `previous`; "" is the end, None the very beginning.

    `images` belong to the item's input_image parts, in order.
    """

    item: Item
    previous: ItemId | None = ItemId("")
    images: tuple[Image, ...] = ()


class RemoveItem(Command, frozen=True, kw_only=True):
    """Take an item out of the conversation."""

    item: ItemId
