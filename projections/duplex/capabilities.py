"""What a session can do, as flags and limits. Clients go by these, never by the name of a model.

The flags are the reference's; those that describe how its engine works inside, and of which ours has no
counterpart, are false.
"""

from __future__ import annotations

from antiphon.events.vocabulary import Abilities, Terms

from .frames import Json

LARGEST_FRAME = 15 * 1024 * 1024
MOST_VIDEO_FRAMES = 2
LARGEST_VIDEO_FRAME = 4_000_000

ALWAYS = (
    "supports_session_adapter",
    "supports_external_turn_signal",
    "supports_client_commit",
    "supports_barge_in",
    "supports_playback_ack",
    "supports_input_append",
    "supports_audio_truncate",
    "supports_realtime_endpoint",
    "supports_independent_io_streams",
)
NEVER = (
    "supports_replace_latest_chunk",
    "supports_reencode_context",
    "supports_rollback_to_checkpoint",
    "supports_turn_commit_only",
    "supports_kv_lease",
    "supports_core_kv_lease",
    "supports_scheduler_native_append",
    "supports_concurrent_turn_requests",
    "supports_stage_connector_handoff",
    "requires_model_runner_kv",
    "requires_native_stage_role",
)


def capabilities(abilities: Abilities, terms: Terms) -> Json:
    """The `capabilities` of a session object."""
    native = abilities.hears == "continuously"
    return {
        **dict.fromkeys(ALWAYS, True),
        **dict.fromkeys(NEVER, False),
        "supports_multi_session": abilities.max_sessions != 1,
        "supports_multi_session_same_replica": abilities.max_sessions != 1,
        "supports_model_native_turn_policy": native,
        "supports_model_internal_state": native,
        "supports_stage_resumption": native,
        "supports_core_resumable_request": native,
        "supports_session_lease": True,
        "supports_session_resume": terms.disconnect_grace_s > 0,
        "supports_server_vad": abilities.detects_voice,
        "supports_input_transcription": abilities.transcribes,
        "supports_audio_output": abilities.speaks,
        "supports_image_input": abilities.sees,
        "supports_video_frames": abilities.sees,
        "supports_text_only_turn": abilities.reads,
        "supports_function_calls": abilities.calls_tools,
        "response_options": list(abilities.response_options),
        "required_input_modalities": ["audio"] if native else [],
        "optional_input_modalities": _optional(abilities, native),
        "session_admission_mode": "engine_managed",
        "implementation_level": "model_native_duplex" if native else "turn_based_duplex",
        "adapter_patterns": [],
        "input_modes": ["append_audio_chunk"],
        "signal_sources": ["client", "server_vad"] if abilities.detects_voice else ["client"],
        "stage_handoff_transport": None,
        "chunk_period_ms": abilities.unit_ms or None,
        "target_barge_in_latency_ms": None,
        "limits": _limits(terms),
    }


def _limits(terms: Terms) -> Json:
    return {
        "max_event_bytes": LARGEST_FRAME,
        "max_video_frames_per_append": MOST_VIDEO_FRAMES,
        "max_video_frame_chars": LARGEST_VIDEO_FRAME,
        "max_pending_turns": terms.pending_turns,
        "max_pending_input_bytes": terms.pending_input_bytes,
        "idle_ttl_s": terms.idle_ttl_s,
        "disconnect_grace_s": terms.disconnect_grace_s,
        "max_session_s": terms.max_session_s,
    }


def _optional(abilities: Abilities, native: bool) -> list[str]:
    return [
        name
        for name, there in (
            ("audio", not native and abilities.transcribes),
            ("text", abilities.reads),
            ("video", abilities.sees),
        )
        if there
    ]
