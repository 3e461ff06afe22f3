"""The engine that a suite tries, and what it can do beyond what its descriptor says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from antiphon.actors.stages.contract import Engine
from antiphon.events.units import ms_to_samples


@dataclass(frozen=True)
class StageUnderTest:
    """An engine, and what may be tried on it; what is not given is not tried.

    engine      makes the engine with its models loaded; called once in every case
    config      what sessions are opened with
    bad_config  one with which the engine takes no session in, and no configuration
    question    what the user has written, for a model that answers written words; "" for one that does not
    speech      PCM (mono, 16 bit, 24 kHz) that a stage hears; at least one of its units
    held        how many sessions the engine still holds anything of
    kill        has the engine die by itself, as a lost device would; from any thread
    repeats     whether the same session hears and says the same again, whoever else is there
    patience_s  how long anything may take; a call of the engine, a tenth of that
    """

    engine: Callable[[], Engine]
    config: dict[str, Any] = field(default_factory=dict)
    bad_config: dict[str, Any] | None = None
    question: str = ""
    speech: bytes = bytes(2 * ms_to_samples(1000))
    held: Callable[[Engine], int] | None = None
    kill: Callable[[Engine], None] | None = None
    repeats: bool = True
    patience_s: float = 30.0
