"""The members of a client's session object."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from . import frames as f

Json = dict[str, Any]

SERVER_OWNED = frozenset(
    {
        "duplex_stage_sampling_params",
        "duplex_stage_max_tokens",
        "duplex_stage0_max_tokens",
        "duplex_scheduler_token_id",
        "duplex_vision_tile_pixels",
        "duplex_first_append_context_tokens",
        "ref_audio_data",
        "ref_audio_format",
        "ref_audio_sample_rate_hz",
        "initial_user_text",
    }
)
WINDOW = "duplex_window_"
"""In extra_body these, and whatever begins with WINDOW, are the server's to say."""

OURS = frozenset(
    {
        "id", "session_id", "object", "type", "model", "state", "turn_state", "epoch", "turn_id",
        "active_request_id", "active_response_id", "active_response_turn_id", "playback", "capabilities",
        "extra_body", "ref_audio", "ref_audio_path", "tts_ref_audio_path", "initial_user_text",
        "modalities", "output_modalities", "instructions", "voice", "auto_response", "tools", "tool_choice",
        "input_audio_format", "output_audio_format", "response_format", "sample_rate_hz", "sample_rate",
        "turn_detection", "temperature", "max_tokens", "max_output_tokens", "max_response_output_tokens",
        "overlap_policy", "overlap_short_ack_ms", "overlap_barge_in_ms", "playback_commit_policy", "audio",
    }
)  # fmt: skip
"""Members that have a place of their own, or are not the client's to say. All others are shown back."""


class AudioIn(Struct, frozen=True, kw_only=True):
    format: str | f.Format | None = None
    sample_rate_hz: Any = None
    turn_detection: Json | UnsetType | None = UNSET
    transcription: Any = UNSET
    noise_reduction: Any = UNSET


class AudioOut(Struct, frozen=True, kw_only=True):
    format: str | f.Format | None = None
    sample_rate_hz: Any = None
    voice: str | None = None
    speed: float | None = None


class Audio(Struct, frozen=True, kw_only=True):
    input: AudioIn = AudioIn()
    output: AudioOut = AudioOut()


class Session(Struct, frozen=True, kw_only=True):
    """The members that mean something here."""

    model: str | None = None
    modalities: list[str] | None = None
    output_modalities: list[str] | None = None
    instructions: str | UnsetType | None = UNSET
    initial_user_text: str | None = None
    voice: str | None = None
    ref_audio: str | None = None
    ref_audio_path: Any = None
    tts_ref_audio_path: Any = None
    input_audio_format: str | f.Format | None = None
    output_audio_format: str | f.Format | None = None
    response_format: str | f.Format | None = None
    sample_rate_hz: Any = None
    sample_rate: Any = None
    audio: Audio = Audio()
    turn_detection: Json | UnsetType | None = UNSET
    temperature: float | UnsetType | None = UNSET
    max_response_output_tokens: int | str | UnsetType | None = UNSET
    max_output_tokens: int | str | UnsetType | None = UNSET
    max_tokens: int | str | UnsetType | None = UNSET
    idle_timeout_s: float | None = None
    overlap_policy: str | None = None
    overlap_short_ack_ms: float | None = None
    overlap_barge_in_ms: float | None = None
    overlap_silence_rms: float | None = None
    playback_commit_policy: str | None = None
    auto_response: bool | UnsetType = UNSET
    tools: list[Json] | UnsetType | None = UNSET
    tool_choice: Any = UNSET
    extra_body: Json = {}
