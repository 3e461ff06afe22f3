"""The session object: what the client asked for, under what really holds and where the session stands.

The client's own members that mean nothing here are shown back. Flat names and nested ones say the same.
"""

from __future__ import annotations

import msgspec

from antiphon.actors.session.configuration import merged
from antiphon.events.vocabulary import Config

from .capabilities import capabilities
from .formats import input_format
from .frames import Cursors, Json
from .view import View

DEFAULTS: Json = {
    "tools": [],
    "tool_choice": "auto",
    "metadata": None,
    "tracing": None,
    "speed": 1.0,
    "idle_timeout_s": 300.0,
    "overlap_silence_rms": 0.003,
    "input_audio_transcription": None,
    "input_audio_noise_reduction": None,
}


def session_object(view: View) -> Json:
    """Shown in session.created and session.updated."""
    return merged(merged(DEFAULTS, view.config.echo), {**_asked(view), **_standing(view)})


def _standing(view: View) -> Json:
    """Where the session stands."""
    latest, speaking = view.latest, view.speaking
    return {
        "id": view.session,
        "object": "realtime.session",
        "type": "realtime",
        "state": view.phase,
        "turn_state": view.turn_state,
        "expires_at": view.expires_at,
        "epoch": view.epoch,
        "turn_id": view.turn,
        "active_request_id": None if view.request is None else f"req_{view.request}",
        "active_response_id": None if speaking is None else speaking.created.response,
        "active_response_turn_id": None if speaking is None else speaking.created.fence.turn,
        "playback": msgspec.to_builtins(Cursors(0, 0, 0, 0) if latest is None else latest.cursors),
    }


def _asked(view: View) -> Json:
    """What the session runs by."""
    config = view.config
    heard, said = input_format(config), view.output
    detection = turn_detection(config)
    overlap = config.overlap
    return {
        "model": config.model,
        "modalities": list(config.output_modalities),
        "output_modalities": list(config.output_modalities),
        "instructions": config.instructions,
        "voice": config.voice or None,
        "input_audio_format": heard.encoding,
        "sample_rate_hz": heard.rate,
        "output_audio_format": said.encoding,
        "response_format": said.encoding,
        "audio": {
            "input": {"format": heard.shown, "sample_rate_hz": heard.rate, "turn_detection": detection},
            "output": {"format": said.shown, "sample_rate_hz": said.rate, "voice": config.voice or None},
        },
        "turn_detection": detection,
        "temperature": config.temperature,
        "max_tokens": config.max_output_tokens,
        "max_output_tokens": "inf" if config.max_output_tokens is None else config.max_output_tokens,
        "auto_response": config.auto_response,
        "tools": list(config.tools),
        "tool_choice": config.tool_choice,
        "overlap_policy": None if overlap is None else overlap.policy,
        "overlap_short_ack_ms": None if overlap is None else overlap.short_ack_ms,
        "overlap_barge_in_ms": None if overlap is None else overlap.barge_in_ms,
        "playback_commit_policy": config.playback,
        "capabilities": capabilities(view.abilities, view.terms),
    }


def turn_detection(config: Config) -> Json | None:
    """Server VAD as it runs; None: the model, or the client, decides."""
    detection = config.turn_detection
    if detection is None:
        return None
    return {
        "type": "server_vad",
        "threshold": detection.threshold_permille / 1000,
        "prefix_padding_ms": detection.prefix_padding_ms,
        "silence_duration_ms": detection.silence_duration_ms,
        "min_speech_duration_ms": detection.min_speech_ms,
        "create_response": detection.create_response,
        "interrupt_response": detection.interrupt_response,
    }
