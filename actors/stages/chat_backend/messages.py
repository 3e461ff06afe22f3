"""A conversation and its functions as a chat server reads them: the chat-completions form.

Images go as data URLs, sound as a WAV of 16 kHz. The Realtime protocol describes a
function flat, chat completions nested.
"""

from __future__ import annotations

import base64
from typing import Any

from antiphon.actors.stages.contract import Piece, Turn
from antiphon.events.units import SAMPLE_RATE
from antiphon.media.pcm import to_float
from antiphon.media.resample import resample
from antiphon.media.wav import write_wav

Json = dict[str, Any]

_PNG = b"\x89PNG"
_CHOICES = ("auto", "none", "required")
HEARD_RATE = 16_000
"""Samples per second of the sound that models with ears take."""


def message(turn: Turn) -> Json:
    if turn.role == "tool":
        return {"role": "tool", "tool_call_id": turn.call_id, "content": turn.text}
    said: Json = {"role": turn.role, "content": turn.text}
    if turn.pieces:
        said["content"] = [_part(piece) for piece in turn.pieces]
        return said
    if turn.images:
        words = [{"type": "text", "text": turn.text}] if turn.text else []
        said["content"] = [*words, *map(_image, turn.images)]
    if turn.calls:
        said["content"] = turn.text or None
        said["tool_calls"] = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in turn.calls
        ]
    return said


def _part(piece: Piece) -> Json:
    if piece.image:
        shown = _image(piece.image)
        return shown | {"max_pixels": piece.max_pixels} if piece.max_pixels else shown
    if piece.pcm:
        samples = resample(to_float(piece.pcm), SAMPLE_RATE, HEARD_RATE)
        sound = base64.b64encode(write_wav(samples, HEARD_RATE)).decode()
        return {"type": "input_audio", "input_audio": {"data": sound, "format": "wav"}}
    return {"type": "text", "text": piece.text}


def _image(file: bytes) -> Json:
    kind = "image/png" if file.startswith(_PNG) else "image/jpeg"
    url = f"data:{kind};base64,{base64.b64encode(file).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def tool(described: Json) -> Json:
    """A function as the client described it, in either form."""
    if "function" in described:
        return described
    function = {key: value for key, value in described.items() if key != "type"}
    return {"type": "function", "function": function}


def choice(chosen: Any) -> Any:
    """Whether a function must be called, and which. What nobody knows means that the model may choose."""
    if isinstance(chosen, dict) and chosen.get("type") == "function":
        name = chosen.get("name") or (chosen.get("function") or {}).get("name")
        return {"type": "function", "function": {"name": name}} if name else "auto"
    return chosen if chosen in _CHOICES else "auto"
