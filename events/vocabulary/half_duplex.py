"""What is of half-duplex calls only."""

from typing import Any, ClassVar

from msgspec import Struct, field

from ..units import Millis, Samples
from .base import Event


class NotApplied(Struct, frozen=True):
    """Something that was asked for and cannot be done here; `message` is for people."""

    parameter: str
    message: str


class CallPrepared(Event, frozen=True, kw_only=True):
    """The client said how the call is to go. A conversation begins: what was said before is not part of it.

    `number` counts these from 1. The call lasts `timeout_ms` from here. `settings` is what the client asked
    for and what it was not asked for, all of it; `recorded`: the audio is kept once the call is over.
    """

    number: int
    timeout_ms: Millis
    settings: dict[str, Any] = field(default_factory=dict)
    not_applied: tuple[NotApplied, ...] = ()
    recorded: bool = True


class InputDropped(Event, frozen=True, kw_only=True):
    """Audio that nobody heard: `cold_start` (right after CallPrepared), `answering` and `playing`, in which
    the microphone hears the assistant; or, over the Moshi wire, `preparing` (the model is not ready yet)."""

    ancillary: ClassVar[bool] = True
    samples: Samples
    reason: str
