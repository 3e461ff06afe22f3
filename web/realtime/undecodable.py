"""Frames that cannot be read. They never reach the core, change nothing, and are answered at once.

invalid_json        not JSON, or not an object
unknown_event       no event of that `type`
invalid_type        a member has the wrong type, or a needed one is missing; `param` names it
invalid_value       a member's value is out of its range
invalid_audio       `audio` is not base64
event_too_large     the frame exceeds 15 MiB
nested_too_deeply   objects or arrays inside each other, more than anybody means
unsupported_audio_format, unsupported_content
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec


class Undecodable(Exception):
    """A frame that cannot be read, and what to tell its sender."""

    def __init__(
        self, code: str, message: str, param: str | None = None, client_event: str | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.param, self.client_event = code, message, param, client_event


T = TypeVar("T")

_PATH = re.compile(r" - at `\$\.?(.*?)`$")
_RANGE = re.compile(r"of length|out of range|[<>]=? -?\d")
LONGEST_ID = 512


def decode(raw: msgspec.Raw | bytes, kind: type[T], prefix: str, client_event: str | None) -> T:
    """Read a member. Raises Undecodable with the member's full path."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError as error:
        raise explain(error, client_event, prefix) from error


def explain(error: msgspec.DecodeError, client_event: str | None, prefix: str = "") -> Undecodable:
    """What msgspec found wrong, in the client's terms."""
    text = str(error)
    found = _PATH.search(text)
    inner = found.group(1) if found else ""
    message = text[: found.start()] if found else text
    path = ".".join(part for part in (prefix, inner) if part) or None
    missing = re.search(r"missing required field `(.+?)`", message)
    if missing:
        path = f"{path}.{missing.group(1)}" if path else missing.group(1)
    if not isinstance(error, msgspec.ValidationError):
        return Undecodable("invalid_json", f"the frame is not valid JSON: {text}", None, client_event)
    if "base64" in message:
        return Undecodable("invalid_audio", "audio is not valid base64", path, client_event)
    code = "invalid_value" if _RANGE.search(message) else "invalid_type"
    return Undecodable(code, message, path, client_event)


def _client_event_of(read: Any) -> tuple[Any, str | None]:
    """`type` and `event_id` of a frame that could not be read as what it says it is."""
    if not isinstance(read, dict):
        return None, None
    event = read.get("event_id")
    known = isinstance(event, str) and len(event) <= LONGEST_ID
    return read.get("type"), event if known else None


def unreadable(text: str, error: msgspec.DecodeError, *, untyped: str) -> Undecodable:
    """Why a whole frame could not be read. `untyped` is the code of JSON that does not say what it is."""
    read = None
    try:
        read = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        untyped = "invalid_json"
    except RecursionError:
        return nested_too_deeply()
    kind, client_event = _client_event_of(read)
    if not isinstance(error, msgspec.ValidationError):
        return explain(error, None)
    if not isinstance(kind, str):
        return Undecodable(untyped, "a frame is an object with a string `type`", "type", client_event)
    if "Invalid value" in str(error) and "`$.type`" in str(error):
        return Undecodable("unknown_event", f"there is no event of type {kind[:80]!r}", "type", client_event)
    return explain(error, client_event)


def nested_too_deeply() -> Undecodable:
    return Undecodable("nested_too_deeply", "the frame's values are nested too deeply")
