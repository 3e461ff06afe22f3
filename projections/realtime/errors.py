"""The dialect's names for what the core (and the edge) refuses. One table; clients match on these codes."""

from __future__ import annotations

from .frames import Error, ErrorBody, ErrorType

CODES = {
    "active_response": "conversation_already_has_active_response",
    "response_not_active": "response_cancel_not_active",
    "response_unknown": "response_cancel_not_active",
    "item_exists": "item_create_duplicate_item_id",
}

TYPES: dict[str, ErrorType] = {
    "resource_exhausted": "rate_limit_error",
    "too_many_errors": "rate_limit_error",
    "not_ready": "server_error",
    "server_vad_unavailable": "invalid_request_error",
    "engine_dead": "server_error",
    "stage_lost": "server_error",
    "stage_failed": "server_error",
    "runtime_contract_invalid": "server_error",
    "internal_error": "server_error",
    "log_unavailable": "server_error",
    "store_full": "server_error",
    "outcome_unknown": "server_error",
    "locked": "server_error",
    "fenced": "server_error",
    "sealed": "server_error",
    "corrupt": "server_error",
}


def error(
    event_id: str,
    code: str,
    message: str,
    *,
    param: str | None = None,
    client_event: str | None = None,
) -> Error:
    """The frame for a refusal. livekit ignores a failed cancel only by how its message starts."""
    if code in ("response_not_active", "response_unknown"):
        message = f"Cancellation failed: {message}"
    body = ErrorBody(
        type=TYPES.get(code, "invalid_request_error"),
        code=CODES.get(code, code),
        message=message,
        param=param,
        event_id=client_event,
    )
    return Error(event_id=event_id, error=body)
