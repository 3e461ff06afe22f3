"""The dialect's names for what the core, the edge and the stages refuse, and what kind of error each is.

One table. A code that is missing here would be shown as it is, as the client's mistake: a test walks all
codes that the core and the edge know, so that none is missing.
"""

from __future__ import annotations

from . import frames as f

CODES: dict[str, str | None] = {
    "active_response": "response_already_active",
    "input_audio_buffer_commit_empty": "input_audio_buffer_empty",
    "invalid_audio": "bad_audio",
    "invalid_type": "bad_event",
    "invalid_value": "bad_event",
    "item_exists": "bad_event",
    "nested_too_deeply": "bad_event",
    "response_unknown": None,
    "unsupported_content": "unsupported",
}
"""Where the dialect has a name of its own for what the core or the edge calls otherwise; None: it keeps
silent about it."""

CLIENT = (
    # frames that cannot be read
    "invalid_json",
    "bad_event",
    "unknown_event",
    "event_too_large",
    "bad_audio",
    "undecodable_audio",
    "invalid_video_frames",
    "invalid_image",
    "invalid_event_ack",
    "missing_item_id",
    "unsupported_audio_format",
    "unsupported_response_modality",
    # the session and its configuration
    "config_timeout",
    "session_exists",
    "session_not_found",
    "session_closed",
    "unknown_session",
    "session_update_aborted",
    "invalid_session_config",
    "invalid_duplex_runtime_config",
    "unsupported_turn_detection",
    "instructions_update_unsupported",
    "persona_update_unsupported",
    "voice_update_unsupported",
    "voice_update_after_audio_unsupported",
    "ref_audio_required",
    "ref_audio_update_unsupported",
    "unsupported_ref_audio_path",
    "model_update_unsupported",
    "sliding_window_update_unsupported",
    "invalid_sliding_window_config",
    "unsupported_nemotron_duplex_mode",
    "unsupported",
    # resuming
    "invalid_session_resume",
    "unsupported_session_resume",
    "session_resume_expired",
    "session_resume_conflict",
    "invalid_resume_token",
    "runtime_resume_failed",
    "runtime_resume_unsupported",
    # input and items
    "input_audio_buffer_empty",
    "invalid_input_modality",
    "realtime_input_failed",
    "not_prepared",
    "not_idle",
    "no_frames",
    "invalid_config",
    "video_unavailable",
    "frame_too_large",
    "native_text_append_unsupported",
    "item_not_found",
    "invalid_function_call_output",
    # responses and playback
    "unsupported_native_response_options",
    "response_already_active",
    "response_not_active",
    "response_create_without_input",
    "text_only_turn_unsupported",
    "barge_in_unsupported",
    "playback_item_mismatch",
    "playback_item_not_found",
    "playback_ack_too_late",
    # fences, on the way to a stage
    "stale_fence",
    "not_found",
    "invalid_argument",
    "failed_precondition",
    "invalid_capability",
)
BUSY = ("resource_exhausted", "input_backpressure", "duplex_session_busy", "too_many_errors")
SERVER = (
    "internal_error",
    "engine_error",
    "engine_dead",
    "engine_backpressure",
    "timeout",
    "not_ready",
    "commit_aborted",
    "server_vad_unavailable",
    "response_error",
    "effect_interrupted",
    "function_response_backlog",
    "nemotron_function_call_parse_error",
    "runtime_abort_failed",
    "runtime_append_failed",
    "runtime_append_task_failed",
    "runtime_contract_invalid",
    "runtime_data_plane_stream_failed",
    "runtime_data_plane_text_without_audio",
    "runtime_open_failed",
    "runtime_open_unsupported",
    "runtime_signal_failed",
    "runtime_touch_failed",
    "runtime_touch_unsupported",
    "stage_failed",
    "stage_lost",
    "stage_timeout",
    # the log
    "corrupt",
    "fenced",
    "locked",
    "log_unavailable",
    "outcome_unknown",
    "sealed",
    "store_full",
)

TYPES: dict[str, f.ErrorType] = {
    **dict.fromkeys(CLIENT, "invalid_request_error"),
    **dict.fromkeys(BUSY, "rate_limit_error"),
    **dict.fromkeys(SERVER, "server_error"),
}
"""What kind of error each of the dialect's codes is."""

RETRYABLE = frozenset(
    {
        "resource_exhausted",
        "input_backpressure",
        "duplex_session_busy",
        "engine_backpressure",
        "engine_dead",
        "not_ready",
        "stage_lost",
        "stage_timeout",
        "timeout",
    }
)
"""The same may be asked again, later."""


def body(
    code: str,
    message: str,
    param: str | None = None,
    client_event: str | None = None,
    *,
    otherwise: f.ErrorType = "invalid_request_error",
) -> f.ErrorBody | None:
    """What an error frame says; None where the dialect says nothing. `otherwise` is the kind of a code that
    no table can have."""
    named = CODES.get(code, code)
    if named is None:
        return None
    return f.ErrorBody(
        type=TYPES.get(named, otherwise),
        code=named,
        message=message,
        param=param,
        event_id=client_event,
        retryable=named in RETRYABLE,
    )


def told(
    code: str, message: str, param: str | None = None, client_event: str | None = None
) -> list[tuple[type[f.Frame], f.Json]]:
    """The error frame of a refusal, as a projection's step makes it."""
    said = body(code, message, param, client_event)
    return [] if said is None else [(f.Error, {"error": said})]


def failed(code: str, message: str, client_event: str | None = None) -> list[tuple[type[f.Frame], f.Json]]:
    """The same where something failed. Stages have codes of their own."""
    said = body(code, message, None, client_event, otherwise="server_error")
    return [] if said is None else [(f.Error, {"error": said})]
