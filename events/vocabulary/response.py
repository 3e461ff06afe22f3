"""What the assistant said. Audio positions are on the response's own clock: 0 is its first sample."""

from typing import ClassVar, Literal

from msgspec import Struct

from ..ids import Fence, ItemId, Operation, ResponseId
from ..units import Samples
from .base import Event

Outcome = Literal["completed", "cancelled", "failed", "incomplete"]


class Usage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens as the stage counted them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class AudioFormat(Struct, frozen=True):
    """In what form a client wants audio: an encoding by the duplex dialect's name, and samples per second."""

    encoding: str
    rate: int


class ResponseCreated(Event, frozen=True, kw_only=True):
    """An answer began; `item` is its place in the history, after `previous`."""

    response: ResponseId
    item: ItemId
    fence: Fence
    previous: ItemId | None = None
    modalities: tuple[str, ...] = ("audio",)
    instructions: str | None = None
    max_output_tokens: int | None = None
    metadata: dict[str, str] | None = None
    in_history: bool = True
    asked: bool = True
    """Somebody asked for it; False: a model that hears continuously began by itself."""
    voice: str | None = None
    temperature: float | None = None
    answers: ItemId | None = None
    """The deferred item that this answers: it stands right behind it, and the model sees nothing later."""
    audio_format: AudioFormat | None = None
    """That of this answer only; None: the session's."""
    speed: float | None = None


class AnswerRouted(Event, frozen=True, kw_only=True):
    """Which part of a stage answers: `model`, or an intent by name."""

    ancillary: ClassVar[bool] = True
    response: ResponseId
    route: str
    operation: Operation
    index: int


class TextSpoken(Event, frozen=True, kw_only=True):
    """A piece of the answer's text; its audio begins at `from_sample` (after all audio spoken so far)."""

    response: ResponseId
    text: str
    from_sample: Samples
    operation: Operation
    index: int


class AudioSpoken(Event, frozen=True, kw_only=True):
    """A piece of the answer's audio; its blob holds `samples` of PCM ending at `until_sample`."""

    response: ResponseId
    samples: Samples
    until_sample: Samples
    operation: Operation
    index: int


class ModelListened(Event, frozen=True, kw_only=True):
    """The model decided to go on listening; without an `operation` nobody asked it.

    `response` is the answer that this ends, if one was under way. `reason`: `model_listen`, or why there was
    nothing to decide: `silence_or_noise`, `buffering`, `continuation_limit`, `turn_completed_without_output`.
    """

    ancillary: ClassVar[bool] = True
    operation: Operation | None = None
    index: int = 0
    reason: str = "model_listen"
    response: ResponseId | None = None


class ToolCalled(Event, frozen=True, kw_only=True):
    """The model calls one of the client's functions: an item of its own, whose output the client adds.

    It stands behind `previous`: the words of its answer, or the call before it.
    """

    response: ResponseId
    item: ItemId
    call_id: str
    name: str
    arguments: str
    operation: Operation
    index: int
    previous: ItemId | None = None


class TurnEnded(Event, frozen=True, kw_only=True):
    """The model ended turn `turn`: its own decision, wherever commits and answers stand."""

    turn: int
    operation: Operation
    index: int


class ResponseEnded(Event, frozen=True, kw_only=True):
    """An answer ended. Nothing of it is shown after this.

    `reason` says why it did not complete: `turn_detected`, `client_cancelled`, `max_output_tokens`, or a
    stable failure code with `message` for people.
    """

    response: ResponseId
    outcome: Outcome
    reason: str | None = None
    message: str | None = None
    usage: Usage = Usage()
    session_over: bool = False
    """The session ends right behind it, and for the same reason: no other answer begins."""
