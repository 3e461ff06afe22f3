"""The life of a session and how it is configured."""

from typing import Any, ClassVar, Literal

from msgspec import Struct, field

from ..ids import SessionId
from .base import Event


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


class TurnDetection(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Server VAD as it runs, whatever dialect name the client gave it. Times in ms, threshold in permille."""

    threshold_permille: int = 500
    prefix_padding_ms: int = 300
    silence_duration_ms: int = 500
    min_speech_ms: int = 96
    create_response: bool = True
    interrupt_response: bool = True


class Config(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything a session runs by. `echo` is the client's own session object, kept to be shown back."""

    model: str = ""
    instructions: str = ""
    output_modalities: tuple[str, ...] = ("audio",)
    voice: str = ""
    turn_detection: TurnDetection | None = None
    transcription: bool = False
    max_output_tokens: int | None = None
    temperature: float | None = None
    echo: dict[str, Any] = field(default_factory=dict)


class SessionOpened(Event, frozen=True, kw_only=True):
    """A session began its life. `principal` is a hash of the key that opened it, None without keys."""

    session: SessionId
    incarnation: int
    mode: str
    abilities: Abilities
    config: Config
    principal: str | None = None


class SessionConfigured(Event, frozen=True, kw_only=True):
    """The session runs by `config` from here on (the whole of it, not the change)."""

    config: Config
    client_event: str | None = None


class ConfigRefused(Event, frozen=True, kw_only=True):
    """A stage would not take a configuration that the core had accepted."""

    ancillary: ClassVar[bool] = True
    code: str
    message: str
    client_event: str | None = None


class SessionClosed(Event, frozen=True, kw_only=True):
    """The session ended as somebody wanted: `client`, `disconnected`, `shutdown`; or had to: `expelled`."""

    reason: str


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
