"""Sessions as particular models want them. Change any member with `dataclasses.replace`.

A client that must work with whatever is served goes by `session_info["capabilities"]` instead.
"""

from __future__ import annotations

from typing import Any

from .audio import AudioFormat
from .configuration import SessionConfig

Json = dict[str, Any]


def cascade(instructions: str | None = None) -> SessionConfig:
    """Recognition, a language model and a voice, in a row: server VAD ends turns, and speech breaks in."""
    return SessionConfig(
        input_audio=AudioFormat("pcm16", 24_000),
        instructions=instructions,
        turn_detection={"type": "server_vad"},
    )


def minicpmo_4_5(ref_audio: str, instructions: str | None = None) -> SessionConfig:
    """MiniCPM-o 4.5 hears in units of a second and decides at each whether to speak. `ref_audio` is the voice
    to speak with, a data URL: without one it only writes."""
    return SessionConfig(
        instructions=instructions,
        ref_audio=ref_audio,
        overlap_policy="listen_only",
        playback_commit_policy="ack_only",
        extra_body={"force_listen_count": 0},
    )


def personaplex(voice: str = "NATF2.pt", persona: str = "") -> SessionConfig:
    """PersonaPlex hears and speaks all the time, in frames of 80 ms; who it is it is told once."""
    return SessionConfig(
        input_audio=AudioFormat("pcm_f32le", 24_000),
        instructions=persona or None,
        voice=voice,
    )


def nemotron(
    instructions: str | None = None,
    tools: tuple[Json, ...] = (),
    idle_timeout_s: float | None = None,
    extra_body: Json | None = None,
) -> SessionConfig:
    """Nemotron's speech model: frames of 80 ms, float samples in, 22.05 kHz out."""
    return SessionConfig(
        input_audio=AudioFormat("pcm_f32le", 16_000),
        output_audio=AudioFormat("pcm16", 22_050),
        instructions=instructions,
        tools=tools,
        idle_timeout_s=idle_timeout_s,
        extra_body=dict(extra_body or {}),
    )
