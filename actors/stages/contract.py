"""What the session and a stage say to each other.

A stage process hosts one engine and many sessions. Every message names the moment it belongs to (Fence) and
the operation it is part of (the seq of the event that asked), so that

* the same operation asked twice is done once;
* a stage keeps each output until it is acknowledged, and (session, number) removes duplicates;
* work of a void epoch is refused by the stage itself, even when the cancel overtook it.

Two kinds of work: `Listen` gives audio (a piece of a stream, or a whole utterance to recognise) and `Speak`
asks for an answer to a conversation. Input-side work (voice scores, recognitions) is fenced by session and
operation; output-side work also by epoch: a barge-in voids an answer, never the user's own words.

PCM here is mono signed 16-bit little-endian at 24 kHz (events.units.SAMPLE_RATE); a stage resamples inside.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Literal, Protocol

from msgspec import Struct

from antiphon.events.ids import Fence, Operation, SessionId

from .conversation import Call as Call
from .conversation import PastUnit as PastUnit
from .conversation import Piece as Piece
from .conversation import Turn as Turn

CONTRACT_VERSION = 3
ENGINE_DEAD = "engine_dead"
"""The code of a failure after which the engine is of no more use: its process ends and is started again."""
MOST_INTERVALS = 256
"""Intervals that one Measured may hold."""


class Descriptor(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a stage is and can do; said once, when its engine is ready, and validated before any open."""

    contract: int
    name: str
    role: Literal["voice", "model"]
    engine: str
    """Changes with every start of the engine: fences of an earlier one are dead."""
    hears: Literal["continuously", "utterances"] = "utterances"
    transcribes: bool = False
    speaks: bool = True
    """Whether answers have sound; one that only writes answers in text, whatever was asked."""
    max_sessions: int = 1
    must_not_repeat: bool = False
    """Answers call something outside; EffectStarted must precede them and a crash never repeats them."""
    unit_ms: int = 0
    """Input comes in units of exactly this length, one at a time; 0: in pieces as they come."""
    sees: bool = False
    """Takes images with its input."""
    reads: bool = True
    """Takes text items of the user."""
    takes_audio: bool = False
    """Takes the user's sound itself in the turns of a conversation (pieces of a Turn)."""
    calls_tools: bool = False
    confirms_config: bool = False
    """A changed configuration is asked for (Configure) and holds only once the stage has said Configured."""
    keeps_state: bool = False
    """The session's state (KV) outlives an answer; on barge-in the unit under way may end and be dropped."""
    past_units: int = 0
    """How many of the units before it wants with the opening of a session that is not new (PastUnit)."""
    context_tokens: int = 0
    """Room for one session's context; 0: not counted."""
    response_options: tuple[str, ...] = ("instructions", "max_output_tokens", "voice", "temperature")
    """What may be asked for one answer only."""


# --- to the stage -----------------------------------------------------------------------------------------


class Command(Struct, frozen=True, tag=True, gc=False):
    """Anything a session asks of a stage."""


class Open(Command, frozen=True, tag="open"):
    """Take the session in. A higher `writer_epoch` takes over: unacknowledged outputs are said again.

    `config["past_units"]`: what was heard and said before, oldest first, each as a PastUnit; there only if
    there is any, and the stage wants it (Descriptor.past_units).
    """

    fence: Fence
    writer_epoch: int
    config: dict[str, Any]


class Listen(Command, frozen=True, tag="listen"):
    """Hear audio ending at `until_sample` of the session's input clock.

    `whole`: this is one complete utterance to recognise, not the next piece of a stream. For a stage that
    hears in units, `pcm` is exactly one unit: what was heard, then zeros; `images` (files) came with it.
    `final` ends the user's turn, `force_listen` leaves the model no choice.
    """

    fence: Fence
    operation: Operation
    until_sample: int
    pcm: bytes
    whole: bool = False
    images: tuple[bytes, ...] = ()
    final: bool = False
    force_listen: bool = False


class EndTurn(Command, frozen=True, tag="end_turn"):
    """The user's turn ended (continuously hearing stages): say what is left, then finish."""

    fence: Fence
    operation: Operation


class Speak(Command, frozen=True, tag="speak"):
    """Answer `conversation`; its last entry is mostly the user's. `modalities` without "audio": no speech.

    `speed`: how fast it is spoken, 1 being the voice's own pace; None: as that. `tools` are the functions
    that may be called, as the client described them, and `tool_choice` whether they must be.

    `verbatim`: an engine that asks an endpoint sends the conversation as it stands, `instructions` before it
    where there are any, and nothing of its own. `sampling` are further parameters for that endpoint, and
    `endpoint` names which of the engine's is asked; "": its main one.
    """

    fence: Fence
    operation: Operation
    conversation: tuple[Turn, ...]
    instructions: str = ""
    voice: str = ""
    max_output_tokens: int | None = None
    temperature: float | None = None
    modalities: tuple[str, ...] = ("audio",)
    speed: float | None = None
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: Any = "auto"
    verbatim: bool = False
    sampling: dict[str, Any] = {}
    endpoint: str = ""


class Configure(Command, frozen=True, tag="configure"):
    """Run by `config` from here on: commands before it ran by the former one. Answered by Configured, or by
    ConfigRefused, and then nothing has changed."""

    fence: Fence
    generation: int
    config: dict[str, Any]


class Cancel(Command, frozen=True, tag="cancel"):
    """All output-side work of epochs before `next.epoch` is void. Idempotent; a late one only cleans up.

    Without a `next` that is later than `fence` it is refused (CancelRefused), and nothing is released.
    """

    fence: Fence
    next: Fence | None = None


class Close(Command, frozen=True, tag="close"):
    """Let the session go. Answered by Closed when the engine has really released it; until then its place
    stays taken."""

    fence: Fence
    reason: str


class Acknowledge(Command, frozen=True, tag="ack"):
    """Outputs of the session up to and including `number` are in the log; the stage may forget them."""

    session: SessionId
    number: int


# --- from the stage ---------------------------------------------------------------------------------------


class Body(Struct, frozen=True, tag=True, gc=False):
    """What an output says. `tokens`, with a unit's last: all that was generated of it, for a PastUnit."""


class Scored(Body, frozen=True, tag="scored"):
    """Speech probability (permille) of each window; the last ends at `until_sample`."""

    until_sample: int
    window: int
    permille: tuple[int, ...]


class Heard(Body, frozen=True, tag="heard"):
    """The recogniser's text of an utterance."""

    text: str


class Routed(Body, frozen=True, tag="routed"):
    """Who answers: `model` or `intent:<name>`."""

    route: str


class Said(Body, frozen=True, tag="said"):
    """A piece of the answer: its text, then the audio of that text; each may be empty. `image` is a picture
    that was made (a PNG or JPEG file), where one was asked for."""

    text: str = ""
    pcm: bytes = b""
    image: bytes = b""
    tokens: tuple[int, ...] = ()


class Consumed(Body, frozen=True, tag="consumed"):
    """A piece of a stream was heard and nothing is said of it. `reason`: `model_listen`, `buffering`."""

    reason: str = "model_listen"
    tokens: tuple[int, ...] = ()


class TurnEnded(Body, frozen=True, tag="turn_ended"):
    """The model ended its turn. Never an output's last: what it ends is said by the one that follows."""


class Called(Body, frozen=True, tag="called"):
    """The model calls a function of the client's. `arguments` is JSON text."""

    call_id: str
    name: str
    arguments: str


class Finished(Body, frozen=True, tag="finished"):
    """The answer is complete. `why="length"`: it was cut at max_output_tokens."""

    why: Literal["done", "length"] = "done"
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    tokens: tuple[int, ...] = ()


class Failed(Body, frozen=True, tag="failed"):
    """The operation did not end as asked. `code` is stable: `stale_fence`, `busy`, `engine_error`, …"""

    code: str
    message: str
    retryable: bool = False


class Measured(Body, frozen=True, tag="measured"):
    """A measurement on the stage's own clock; never an operation's last word.

    Names that projections/measures.py knows: `first_token_ms` and `first_audio_ms` (since the operation was
    asked), `recognise_ms`, and `token_gaps_ms`: `each_us` holds the times from one token to the next, in
    microseconds, `value_ms` their sum. More than MOST_INTERVALS take several.
    """

    name: str
    value_ms: int
    each_us: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.each_us) > MOST_INTERVALS:
            raise ValueError(f"{len(self.each_us)} intervals, at most {MOST_INTERVALS}")


class Message(Struct, frozen=True, tag=True, gc=False):
    """Anything a stage says."""


class Opened(Message, frozen=True, tag="opened"):
    fence: Fence
    engine: str


class Refused(Message, frozen=True, tag="refused"):
    """The session was not taken in: `resource_exhausted`, `not_ready`, or an engine's own code."""

    fence: Fence
    code: str
    message: str
    retryable: bool = False


class Output(Message, frozen=True, tag="output"):
    """`number` counts a session's outputs from 1; `index` those of one operation from 0; `last` closes it."""

    fence: Fence
    operation: Operation
    number: int
    index: int
    last: bool
    body: Scored | Heard | Routed | Said | Consumed | TurnEnded | Called | Finished | Failed | Measured


class Configured(Message, frozen=True, tag="configured"):
    fence: Fence
    generation: int


class ConfigRefused(Message, frozen=True, tag="config_refused"):
    """The session goes on by the configuration it had."""

    fence: Fence
    generation: int
    code: str
    message: str


class Cancelled(Message, frozen=True, tag="cancelled"):
    fence: Fence
    next: Fence


class CancelRefused(Message, frozen=True, tag="cancel_refused"):
    """The cancel did not name a later epoch: nothing was voided and nothing released."""

    fence: Fence
    message: str


class Closed(Message, frozen=True, tag="closed"):
    fence: Fence


StageCommand = Open | Listen | EndTurn | Speak | Configure | Cancel | Close | Acknowledge
StageMessage = Opened | Refused | Output | Configured | ConfigRefused | Cancelled | CancelRefused | Closed


# --- the engine's side of the stage process ---------------------------------------------------------------


class Emit(Protocol):
    """How an engine answers. Thread-safe; late calls for void work are harmless (the desk drops them)."""

    def __call__(self, fence: Fence, operation: Operation, body: Body, *, last: bool = False) -> None: ...


Pending = Future[None] | None
"""None: it is done. A future: it is done, or has failed, when the future says so (from any thread)."""


class Engine(Protocol):
    """The software that fills a stage. Called on the stage's loop thread: no method may block.

    Heavy work goes to the engine's own threads, which answer through `emit`. Every operation ends with
    exactly one output with `last=True`, unless it was cancelled. An engine that can no longer serve anybody
    raises EngineDied, or ends an operation with Failed(ENGINE_DEAD, …).
    """

    descriptor: Descriptor

    def start(self, emit: Emit) -> None:
        """Ready to serve; the models are already loaded (in the engine's constructor)."""

    def open(self, fence: Fence, config: dict[str, Any]) -> Pending:
        """Make room for a session. EngineRefused, raised or in the future: nothing is held for it."""

    def listen(self, command: Listen) -> None:
        """Hear a piece, a unit or an utterance. Of units one is given at a time; after a cancel the next may
        come while the void one is still ending."""

    def end_turn(self, command: EndTurn) -> None: ...

    def speak(self, command: Speak) -> None: ...

    def configure(self, fence: Fence, config: dict[str, Any]) -> Pending:
        """Run the session by another configuration from here on; only with `confirms_config`.

        EngineRefused, raised or in the future: nothing has changed. The session is asked nothing else until
        it is decided.
        """

    def cancel(self, fence: Fence, next_fence: Fence) -> None:
        """Stop generating for the session's earlier epochs as soon as can be. Idempotent."""

    def close(self, fence: Fence) -> Pending:
        """Let go of everything held for the session; nothing if there is nothing. Asked again if it fails.

        The session's place is free when this is done, so it is done only when memory and threads are.
        """

    def stop(self) -> None:
        """End threads; called once, at shutdown."""


class EngineRefused(Exception):
    """The engine cannot take a session in or serve as configured."""

    def __init__(self, code: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.code, self.message, self.retryable = code, message, retryable


class EngineDied(Exception):
    """The engine is of no more use to anybody."""
