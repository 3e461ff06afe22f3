"""The life of a session and how it is configured."""

from typing import Any, ClassVar, Literal

from msgspec import Struct, field

from ..ids import Seq, SessionId
from .base import Event
from .joyvl import WatchOptions
from .video import VideoOptions


class Abilities(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the stages behind this session can do, as far as the core must know.

    `hears="continuously"`: every piece of input is a unit and the model answers when it wants (echo, duplex
    models). `hears="utterances"`: the model is asked at the end of a turn (cascade).
    """

    stage: str
    hears: Literal["continuously", "utterances"]
    detects_voice: bool = False
    transcribes: bool = False
    speaks: bool = True
    must_not_repeat: bool = False
    """Answers call something outside: EffectStarted precedes each, and a crash never repeats it."""
    unit_ms: int = 0
    """Input goes to the stage in units of exactly this length, one at a time; 0: in pieces as they come."""
    sees: bool = False
    reads: bool = True
    """Takes text items of the user."""
    takes_audio: bool = False
    """Takes the user's sound itself in a conversation."""
    calls_tools: bool = False
    confirms_config: bool = False
    """A configuration holds only once the stage has taken it (ConfigProposed, then SessionConfigured)."""
    past_units: int = 0
    """How many of the latest units the stage is told of when it is opened again."""
    response_options: tuple[str, ...] = ("instructions", "max_output_tokens", "voice", "temperature")
    """What may be asked for one response only, and does not leak into the next."""
    max_sessions: int = 0
    """How many sessions there may be at a time, by the stages and by the server's terms; 0: nobody said."""


class TurnDetection(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Server VAD as it runs, whatever dialect name the client gave it. Times in ms, threshold in permille.

    `kind`: how scores become speech (actors/session/hysteresis.py). Of a `segment`, `prefix_padding_ms` is
    kept behind it, too.
    """

    threshold_permille: int = 500
    prefix_padding_ms: int = 300
    silence_duration_ms: int = 500
    min_speech_ms: int = 96
    create_response: bool = True
    interrupt_response: bool = True
    kind: Literal["onset", "segment"] = "onset"


class Overlap(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What becomes of input while an answer is under way or playing."""

    policy: Literal["listen_only", "barge_in_on_speech"] = "listen_only"
    short_ack_ms: int = 700
    barge_in_ms: int = 1200


PlaybackPolicy = Literal["estimate", "ack_only", "commit_all_on_done"]
"""What counts as heard where nobody acknowledges: an estimate, nothing, or everything once it is done."""


class Config(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything a session runs by. `echo` is the client's own session object, kept to be shown back.

    `auto_response`: input is answered without being asked. `overlap` None: overlaps are not decided (plain
    Realtime). `engine` holds the stage's own public options, `sampling` how its tokens are drawn, as far as
    that was asked for. `strict`: what cannot mean anything is refused (an answer to nothing, the output of a
    function that was not called) where plain clients get by with it.
    """

    model: str = ""
    instructions: str = ""
    output_modalities: tuple[str, ...] = ("audio",)
    voice: str = ""
    turn_detection: TurnDetection | None = None
    transcription: bool = False
    max_output_tokens: int | None = None
    temperature: float | None = None
    auto_response: bool = False
    overlap: Overlap | None = None
    playback: PlaybackPolicy = "estimate"
    strict: bool = False
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: Any = "auto"
    engine: dict[str, Any] = field(default_factory=dict)
    sampling: dict[str, int | float] = field(default_factory=dict)
    echo: dict[str, Any] = field(default_factory=dict)
    video: VideoOptions | None = None
    """Of streaming video."""
    watch: WatchOptions | None = None
    """Of watchers."""


class Terms(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How long a session may last and how much of it may wait, set by the server and by no client. Seconds.

    `idle_ttl_s`: nothing at all happens; None: for ever. `disconnect_grace_s`: nobody is connected; 0: the
    session ends with its connection. `max_session_s`: since it opened; then it ends with the turn, at the
    latest `turn_grace_s` later. `remembered_commands`: of how many frames of a client the ids are known.
    `pending_turns`: items that wait for an answer to end; `pending_input_bytes`: PCM that the stage lacks.
    """

    idle_ttl_s: float | None = None
    disconnect_grace_s: float = 0.0
    max_session_s: float | None = None
    turn_grace_s: float = 30.0
    remembered_commands: int = 256
    pending_turns: int = 4
    pending_input_bytes: int = 16 * 1024 * 1024


class SessionOpened(Event, frozen=True, kw_only=True):
    """A session began its life. `principal` is a hash of the key that opened it, None without keys."""

    session: SessionId
    incarnation: int
    mode: str
    abilities: Abilities
    config: Config
    principal: str | None = None
    terms: Terms = Terms()


class SessionConfigured(Event, frozen=True, kw_only=True):
    """The session runs by `config` from here on (the whole of it, not the change).

    `generation` counts configurations from 0, the one that the session opened with.
    """

    config: Config
    client_event: str | None = None
    generation: int = 0


class ConfigProposed(Event, frozen=True, kw_only=True):
    """A configuration that the stage must agree to: it holds from SessionConfigured on, or never.

    The stage is asked when what was heard before has been given to it (UnitSubmitted "configure").
    """

    config: Config
    generation: int
    client_event: str | None = None


class ConfigRefused(Event, frozen=True, kw_only=True):
    """A stage would not take a configuration that the core had accepted. Nothing of it holds.

    `generation` names the proposal; None: there was none, the stage went.
    """

    ancillary: ClassVar[bool] = True
    code: str
    message: str
    client_event: str | None = None
    generation: int | None = None


class TurnSignalled(Event, frozen=True, kw_only=True):
    """A client told the others how it sees the turn; the session only passes it on."""

    ancillary: ClassVar[bool] = True
    event: str
    payload: dict[str, Any] = field(default_factory=dict)


class SessionClosed(Event, frozen=True, kw_only=True):
    """The session ended as somebody wanted: `client`, `disconnected`, `shutdown`; or had to: `expelled`."""

    reason: str


class SessionExpired(Event, frozen=True, kw_only=True):
    """The session ended because its time was over: `idle_ttl_expired`, `disconnect_grace_expired`,
    `max_session_expired`; of a half-duplex call also `timeout`, or `prepare_timeout` where that
    was not prepared in time; of streaming video `idle`."""

    reason: str


class SessionParked(Event, frozen=True, kw_only=True):
    """The process that served the session stopped, another asked for it (`handover`), or it is a fork that
    nobody has come to yet (`forked`). Whoever opens the log next goes on; nobody is connected meanwhile, and
    the time that a client has to come back begins with the next writer."""

    reason: str


class SessionForked(Event, frozen=True, kw_only=True):
    """Everything before this was copied from another session, whose event `at` is the last of it; from here
    on this one goes its own way."""

    ancillary: ClassVar[bool] = True
    session: SessionId
    incarnation: int
    at: Seq


class SessionFailed(Event, frozen=True, kw_only=True):
    """The session ended because it could not go on. `code` is stable, `message` is for people."""

    code: str
    message: str


class WriterOpened(Event, frozen=True, kw_only=True):
    """An actor opened this log for writing. Later appends by earlier writer epochs are refused.

    `code` names the program version, `projections` the version of each dialect's projection, `boot` the
    machine's boot that monotonic times from here on belong to.
    """

    writer_epoch: int
    code: str
    boot: str
    projections: dict[str, int] = field(default_factory=dict)


class CommandRefused(Event, frozen=True, kw_only=True):
    """A client asked for something that the state did not allow; nothing changed. Shown only to who asked."""

    ancillary: ClassVar[bool] = True
    code: str
    message: str
    attachment: int
    parameter: str | None = None
    client_event: str | None = None
