"""The client's session object: from the wire to a Configure command.

Plain clients send whole defaults of other servers, so what is merely advice is accepted and shown back
(voices, noise reduction, tracing); what would change the meaning of the audio is refused by name.
`semantic_vad` is served by server VAD, its eagerness by the length of the silence.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from antiphon.actors.session.commands import Configure
from antiphon.events.vocabulary import TurnDetection
from antiphon.projections.realtime.formats import FORMATS

from . import frames as f
from .undecodable import Undecodable, decode

MOST_NESTED = 64
"""How deep an object may lie in what is only shown back: tools have schemas, and those have members."""

EAGER_SILENCE_MS = {"low": 800, "medium": 500, "auto": 500, "high": 300}


def configure(raw: msgspec.Raw, client_event: str | None) -> Configure:
    """Raises Undecodable; then nothing of the update counts."""
    session = decode(raw, f.Session, "session", client_event)
    echo = _echo(decode(raw, dict[str, Any], "session", client_event), client_event)
    audio = session.audio or f.Audio()
    audio_in, audio_out = audio.input or f.AudioIn(), audio.output or f.AudioOut()
    _check_format(audio_in.format, "session.audio.input.format", client_event)
    _check_format(audio_out.format, "session.audio.output.format", client_event)
    return Configure(
        client_event=client_event,
        instructions=_or_empty(session.instructions),
        voice=_voice(audio_out.voice),
        output_modalities=_modalities(session.output_modalities),
        turn_detection=_turn_detection(audio_in.turn_detection, client_event),
        transcription=UNSET if audio_in.transcription is UNSET else audio_in.transcription is not None,
        max_output_tokens=tokens(session.max_output_tokens, "session", client_event),
        temperature=session.temperature,
        tools=() if session.tools is None else session.tools,
        tool_choice="auto" if session.tool_choice is None else session.tool_choice,
        echo=echo,
    )


def _echo(session: dict[str, Any], client_event: str | None) -> dict[str, Any]:
    """What may be shown back: not the identity of the session, which is ours."""
    shown = {key: value for key, value in session.items() if key not in ("id", "object", "type", "model")}
    check_can_be_kept(shown, client_event)
    return shown


def check_can_be_kept(session: dict[str, Any], client_event: str | None) -> None:
    """Raises Undecodable for what no event can hold."""
    if not can_be_kept(session):
        message = f"numbers have 64 bits, and objects lie at most {MOST_NESTED} deep"
        raise Undecodable("invalid_value", message, "session", client_event)


def can_be_kept(value: Any, depth: int = 0) -> bool:
    """Whether an event can hold it: JSON has numbers and depths that its format has not."""
    if isinstance(value, int):
        return -(2**63) <= value < 2**64
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth <= MOST_NESTED and all(can_be_kept(one, depth + 1) for one in inner)


def _or_empty(value: str | UnsetType | None) -> str | UnsetType:
    return "" if value is None else value


def _voice(value: str | dict[str, Any] | UnsetType | None) -> str | UnsetType:
    if isinstance(value, dict):
        return str(value.get("id", ""))
    return _or_empty(value)


def _modalities(value: tuple[str, ...] | UnsetType | None) -> tuple[str, ...] | UnsetType:
    return ("audio",) if value is None else value


def tokens(
    value: int | str | UnsetType | None, where: str, client_event: str | None
) -> int | UnsetType | None:
    """How long an answer may be; None for as long as it takes. Raises Undecodable."""
    if isinstance(value, int) and not 1 <= value <= 4096:
        raise Undecodable(
            "invalid_value",
            "max_output_tokens is between 1 and 4096, or inf",
            f"{where}.max_output_tokens",
            client_event,
        )
    return value if isinstance(value, int) or value is UNSET else None


def _check_format(given: f.Format | UnsetType | None, parameter: str, client_event: str | None) -> None:
    if not isinstance(given, f.Format):
        return
    known = FORMATS.get(given.type)
    if known is None or given.rate not in (None, known.rate):
        there_are = ", ".join(f"{name} at {one.rate} Hz" for name, one in FORMATS.items())
        asked = given.type[:40] if given.rate is None else f"{given.type[:40]} at {given.rate} Hz"
        told = f"audio is mono, {there_are}; {asked} was asked for"
        raise Undecodable("unsupported_audio_format", told, parameter, client_event)


def _turn_detection(
    given: f.TurnDetection | UnsetType | None, client_event: str | None
) -> TurnDetection | UnsetType | None:
    if not isinstance(given, f.TurnDetection):
        return given
    if given.type not in ("server_vad", "semantic_vad"):
        raise _bad("type", "turn_detection is server_vad, semantic_vad or null", client_event)
    default = TurnDetection()
    silence = given.silence_duration_ms
    if given.type == "semantic_vad":
        silence = EAGER_SILENCE_MS.get(given.eagerness or "auto")
    threshold = default.threshold_permille / 1000 if given.threshold is None else given.threshold
    if not (math.isfinite(threshold) and 0.0 < threshold <= 1.0):
        raise _bad("threshold", "threshold is above 0 and at most 1", client_event)

    def ms(name: str, value: int | None, otherwise: int, least: int, most: int) -> int:
        chosen = otherwise if value is None else value
        if not least <= chosen <= most:
            raise _bad(name, f"{name} is between {least} and {most}", client_event)
        return chosen

    shortest = given.min_speech_duration_ms
    return TurnDetection(
        threshold_permille=max(round(threshold * 1000), 1),
        prefix_padding_ms=ms(
            "prefix_padding_ms", given.prefix_padding_ms, default.prefix_padding_ms, 0, 5_000
        ),
        silence_duration_ms=ms("silence_duration_ms", silence, default.silence_duration_ms, 100, 10_000),
        min_speech_ms=ms("min_speech_duration_ms", shortest, default.min_speech_ms, 32, 2_000),
        create_response=given.create_response is not False,
        interrupt_response=given.interrupt_response is not False,
    )


def _bad(member: str, message: str, client_event: str | None) -> Undecodable:
    where = f"session.audio.input.turn_detection.{member}"
    return Undecodable("invalid_value", message, where, client_event)
