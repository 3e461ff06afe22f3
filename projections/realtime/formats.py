"""In which form a plain client sends and wants its audio: as it lies in the log, or as a telephone has it.

A session's formats stand in the client's own session object (`Config.echo`), by the public protocol's names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from antiphon.events.units import SAMPLE_RATE
from antiphon.events.vocabulary import Config
from antiphon.projections.duplex.formats import Format, usual

from .frames import Json

Side = Literal["input", "output"]

PCM = Format("pcm16", SAMPLE_RATE)
FORMATS: Mapping[str, Format] = {
    "audio/pcm": PCM,
    "audio/pcmu": usual("g711_ulaw", output=True),
    "audio/pcma": usual("g711_alaw", output=True),
}
"""Every format that a plain client may name. Each has one rate."""

_NAMES = {format_: name for name, format_ in FORMATS.items()}


def named(session: Mapping[str, Any], side: Side) -> Format | None:
    """The format that a session object names for a side, if it names one; null means the usual one."""
    half = (session.get("audio") or {}).get(side) or {}
    if "format" not in half:
        return None
    given = half["format"] or {}
    return FORMATS.get(given.get("type", ""), PCM)


def format_of(config: Config, side: Side) -> Format:
    """The format that holds."""
    return named(config.echo, side) or PCM


def shown(format_: Format) -> Json:
    """As the public protocol has it: only pcm has a rate to name."""
    name = _NAMES[format_]
    return {"type": name, "rate": format_.rate} if format_ == PCM else {"type": name}
