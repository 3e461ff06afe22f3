"""The session object: what the client asked for, over defaults, under what really holds."""

from __future__ import annotations

from antiphon.actors.session.configuration import merged
from antiphon.events.ids import SessionId
from antiphon.events.vocabulary import Config

from .formats import format_of, shown
from .frames import Json


def session_object(session: SessionId, config: Config, expires_at: int | None = None) -> Json:
    """Shown in session.created and session.updated. `interrupt_response` and `create_response` are explicit:
    clients decide by them whether they cancel themselves."""
    formats: Json = {side: shown(format_of(config, side)) for side in ("input", "output")}
    audio_in: Json = {
        "format": formats["input"],
        "transcription": None,
        "noise_reduction": None,
        "turn_detection": _turn_detection(config),
    }
    defaults: Json = {
        "tools": [],
        "tool_choice": "auto",
        "tracing": None,
        "audio": {"input": audio_in, "output": {"speed": 1.0}},
    }
    effective: Json = {
        "type": "realtime",
        "object": "realtime.session",
        "id": session,
        "model": config.model,
        "instructions": config.instructions,
        "output_modalities": list(config.output_modalities),
        "max_output_tokens": "inf" if config.max_output_tokens is None else config.max_output_tokens,
        "audio": {
            "input": {"format": formats["input"], "turn_detection": _turn_detection(config)},
            "output": {"format": formats["output"], "voice": config.voice or "default"},
        },
    }
    if expires_at is not None:
        effective["expires_at"] = expires_at
    whole: Json = merged(merged(defaults, config.echo), effective)
    for side, format_ in formats.items():  # not merged: a former one may have had a rate
        whole["audio"][side]["format"] = format_
    return whole


def _turn_detection(config: Config) -> Json | None:
    """Server VAD as it runs, under the name the client asked for it by."""
    detection = config.turn_detection
    if detection is None:
        return None
    shared: Json = {
        "create_response": detection.create_response,
        "interrupt_response": detection.interrupt_response,
    }
    audio = config.echo.get("audio") or {}
    asked = (audio.get("input") or {}).get("turn_detection") or {}
    if asked.get("type") == "semantic_vad":
        return {"type": "semantic_vad", "eagerness": asked.get("eagerness") or "auto", **shared}
    return {
        "type": "server_vad",
        "threshold": detection.threshold_permille / 1000,
        "prefix_padding_ms": detection.prefix_padding_ms,
        "silence_duration_ms": detection.silence_duration_ms,
        "idle_timeout_ms": None,
        **shared,
    }
