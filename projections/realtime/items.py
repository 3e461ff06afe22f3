"""Items and responses as the dialect shows them. Client libraries validate these shapes strictly:
an assistant's content is `output_audio` in items but `audio` in parts; `transcript` is always there.
"""

from __future__ import annotations

from antiphon.actors.session.history import content_of
from antiphon.actors.session.state import Entry, Session
from antiphon.events.vocabulary import Item, Part, ResponseEnded, Usage

from .frames import Json


def content(part: Part) -> Json:
    if part.kind in ("input_audio", "output_audio"):
        return {"type": part.kind, "transcript": part.text}
    if part.kind == "input_image":  # the file is in the log and is not sent back
        return {"type": part.kind, "detail": "auto"}
    return {"type": part.kind, "text": part.text or ""}


def item(source: Item, status: str = "completed", parts: tuple[Part, ...] | None = None) -> Json:
    shown: Json = {"id": source.id, "object": "realtime.item", "type": source.kind, "status": status}
    if source.kind == "message":
        kept = source.content if parts is None else parts
        return {**shown, "role": source.role, "content": [content(part) for part in kept]}
    if source.kind == "function_call":
        return {
            **shown,
            "call_id": source.call_id,
            "name": source.name or "",
            "arguments": source.arguments or "",
        }
    return {**shown, "call_id": source.call_id or "", "output": source.output or ""}


def retrieved(entry: Entry, state: Session) -> Json:
    """An item as it counts: of an answer, what the user heard."""
    return item(entry.item, entry.status, content_of(state, entry))


def usage(counted: Usage) -> Json:
    """Token counts; no member is ever null."""
    return {
        "total_tokens": counted.input_tokens + counted.output_tokens,
        "input_tokens": counted.input_tokens,
        "output_tokens": counted.output_tokens,
        "input_token_details": {
            "text_tokens": counted.input_tokens,
            "audio_tokens": 0,
            "image_tokens": 0,
            "cached_tokens": counted.cached_tokens,
        },
        "output_token_details": {"text_tokens": counted.output_tokens, "audio_tokens": 0},
    }


def status_details(ended: ResponseEnded) -> Json | None:
    """Only reasons of the protocol's own list: some clients reject any other word."""
    match ended.outcome:
        case "completed":
            return None
        case "cancelled":
            known = ended.reason in ("turn_detected", "client_cancelled")
            return {"type": "cancelled", "reason": ended.reason if known else "client_cancelled"}
        case "incomplete":
            return {"type": "incomplete", "reason": "max_output_tokens"}
        case _:
            error = {"type": "server_error", "code": ended.reason or "engine_error"}
            return {"type": "failed", "error": error}
