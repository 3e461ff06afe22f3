"""A client's messages: JSON objects with a `type`. Each error text is the one that clients know."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec
from msgspec import Struct

from antiphon.web.realtime.undecodable import Undecodable, nested_too_deeply

MOST_FRAME = 10 * 1024 * 1024
"""Characters of an image in base64."""
MOST_LABELS = 4096
"""Characters of what a client says of an image, as JSON."""
LABELS = ("frame_id", "pts_ms", "source_pts_ms", "quality_profile", "capture_ts_ms")


class Shown(Struct, frozen=True):
    """`video.frame`"""

    data: str
    labels: dict[str, Any]


class Heard(Struct, frozen=True):
    """`audio.chunk`"""

    data: str


class Asked(Struct, frozen=True):
    """`video.query`"""

    text: str
    audio: str


class Done(Struct, frozen=True):
    """`video.done`"""


class Ping(Struct, frozen=True):
    """`ping`"""


Message = Shown | Heard | Asked | Done | Ping


def read(text: str) -> Message:
    """Raises Undecodable."""
    try:
        given = msgspec.json.decode(text)
    except RecursionError:
        raise nested_too_deeply() from None
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise Undecodable("invalid_json", "Invalid JSON") from error
    if not isinstance(given, dict):
        raise Undecodable("invalid_json", "Messages must be JSON objects")
    match given.get("type"):
        case "video.frame":
            labels = {name: given[name] for name in LABELS if given.get(name) is not None}
            return Shown(_text(given, "data"), labels)
        case "audio.chunk":
            return Heard(_text(given, "data"))
        case "video.query":
            return Asked(_text(given, "text"), _text(given, "audio_data"))
        case "video.done":
            return Done()
        case "ping":
            return Ping()
        case kind:
            raise Undecodable("unknown_event", f"Unknown type: {str(kind)[:80]}", "type")


def _text(given: dict[str, Any], name: str) -> str:
    """ "" where it is missing."""
    value = given.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        frame = given.get("frame_id")
        named = frame if isinstance(frame, str) else None
        raise Undecodable("invalid_type", f"{name} is a string", name, named)
    return value


def image(shown: Shown, frame_id: str | None) -> bytes:
    """Raises Undecodable."""
    if len(shown.data) > MOST_FRAME:
        raise Undecodable("frame_too_large", "Frame too large", "data", frame_id)
    try:
        return base64.b64decode(shown.data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Undecodable("invalid_image", "Invalid image data", "data", frame_id) from error


def sound(data: str, name: str) -> bytes:
    """Whole samples of PCM. Raises Undecodable."""
    try:
        pcm = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Undecodable("invalid_audio", "Invalid audio data", name) from error
    if len(pcm) % 2:
        raise Undecodable("invalid_audio", "Invalid audio data: half a sample", name)
    return pcm
