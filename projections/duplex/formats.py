"""In which encoding and at which rate a client sends and wants its audio.

The names are many, what is meant is few. A session's formats stand in the client's own session object
(`Config.echo`), in one shape whatever shape they came in: `audio.input.format` and `audio.output.format` are
`{"type": encoding, "rate": samples per second}` (web/duplex/session.py writes them so). Of a session that was
begun in a plain dialect they stand there by the public protocol's names, each of which has one rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from antiphon.events.vocabulary import Config

ENCODINGS: Mapping[str, str] = {
    **dict.fromkeys(("pcm16", "pcm", "audio/pcm", "audio/pcm16", "pcm_s16le", "s16le"), "pcm16"),
    **dict.fromkeys(("pcm_f32le", "f32le", "audio/pcm_f32le"), "pcm_f32le"),
    **dict.fromkeys(("g711_ulaw", "ulaw", "mulaw", "audio/g711_ulaw", "audio/pcmu"), "g711_ulaw"),
    **dict.fromkeys(("g711_alaw", "alaw", "audio/g711_alaw", "audio/pcma"), "g711_alaw"),
    **dict.fromkeys(("wav", "audio/wav"), "wav"),
}
"""Every name that a client may use, and what it means."""

PUBLIC: Mapping[str, str] = {
    "pcm16": "audio/pcm",
    "pcm_f32le": "audio/pcm_f32le",
    "g711_ulaw": "audio/pcmu",
    "g711_alaw": "audio/pcma",
    "wav": "audio/wav",
}

INPUT = frozenset({"pcm16", "pcm_f32le", "g711_ulaw", "g711_alaw"})
OUTPUT = frozenset({"pcm16", "g711_ulaw", "g711_alaw", "wav"})

TELEPHONE_RATE = 8_000
INPUT_RATE, OUTPUT_RATE = 16_000, 24_000
LOWEST_RATE, HIGHEST_INPUT_RATE, HIGHEST_OUTPUT_RATE = 8_000, 192_000, 48_000


class Format(Struct, frozen=True):
    encoding: str
    rate: int

    @property
    def kept(self) -> dict[str, Any]:
        """As it stands in the client's session object."""
        return {"type": self.encoding, "rate": self.rate}

    @property
    def shown(self) -> dict[str, Any]:
        """By the public protocol's name, where it has one."""
        return {"type": PUBLIC[self.encoding], "rate": self.rate}


def usual(encoding: str, *, output: bool) -> Format:
    """The format where only the encoding was named."""
    if encoding.startswith("g711"):
        return Format(encoding, TELEPHONE_RATE)
    return Format(encoding, OUTPUT_RATE if output else INPUT_RATE)


def input_format(config: Config) -> Format:
    return _kept(config, "input") or usual("pcm16", output=False)


def output_format(config: Config) -> Format:
    return _kept(config, "output") or usual("pcm16", output=True)


def _kept(config: Config, side: str) -> Format | None:
    audio = config.echo.get("audio") or {}
    kept = (audio.get(side) or {}).get("format")
    if not isinstance(kept, dict):
        return None
    if kept.get("type") in PUBLIC:
        return Format(kept["type"], kept["rate"])
    return usual(ENCODINGS.get(kept.get("type", ""), "pcm16"), output=True)
