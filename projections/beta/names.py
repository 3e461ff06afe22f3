"""The one place that knows how the beta called things: sessions, items, responses, and where an error points.

GA                                      beta
audio.input.format, .output.format      input_audio_format, output_audio_format: a word
audio.input.transcription               input_audio_transcription
audio.input.turn_detection              turn_detection
audio.output.voice                      voice
output_modalities ["audio"]             modalities ["text", "audio"]
max_output_tokens (of a session)        max_response_output_tokens
output_audio, output_text (in an item)  audio, text
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from antiphon.projections.realtime.frames import Json

PATHS: Mapping[str, tuple[str, ...]] = {
    "modalities": ("output_modalities",),
    "voice": ("audio", "output", "voice"),
    "speed": ("audio", "output", "speed"),
    "input_audio_format": ("audio", "input", "format"),
    "output_audio_format": ("audio", "output", "format"),
    "input_audio_transcription": ("audio", "input", "transcription"),
    "input_audio_noise_reduction": ("audio", "input", "noise_reduction"),
    "turn_detection": ("audio", "input", "turn_detection"),
    "max_response_output_tokens": ("max_output_tokens",),
}
"""Members of the beta's session, and where they stand in today's."""

FORMATS: Mapping[str, str] = {"pcm16": "audio/pcm", "g711_ulaw": "audio/pcmu", "g711_alaw": "audio/pcma"}
_FORMAT_NAMES = {today: then for then, today in FORMATS.items()}

_CONTENT = {"output_audio": "audio", "output_text": "text"}


def flat(session: Json) -> Json:
    """A session object of today as the beta had it. Members that the beta did not know stay as they are."""
    rest = {key: value for key, value in session.items() if key not in ("type", "audio")}
    shown: Json = {}
    for name, path in PATHS.items():
        held, member = _parent(session, path)
        if member in held:
            shown[name] = _then(name, held[member])
            rest.pop(path[0], None)
    return {**rest, **shown}


def nested(session: Mapping[str, Any]) -> Json:
    """What a beta client says of its session, in today's shape. Members of today's stay where they are."""
    made: Json = {key: value for key, value in session.items() if key not in PATHS}
    for name, path in PATHS.items():
        if name in session:
            held = made
            for step in path[:-1]:
                held[step] = dict(held[step]) if isinstance(held.get(step), dict) else {}
                held = held[step]
            held[path[-1]] = _today(name, session[name])
    return made


def parameter(named: str | None) -> str | None:
    """Where an error points, for a client that sent the beta's members."""
    for name, path in PATHS.items():
        today = ".".join(("session", *path))
        if named is not None and (named == today or named.startswith(f"{today}.")):
            return f"session.{name}{named.removeprefix(today)}"
    return named


def item(shown: Json) -> Json:
    """An item: what an assistant says has the names that its parts have."""
    if "content" not in shown:
        return shown
    content = [{**part, "type": _CONTENT.get(part["type"], part["type"])} for part in shown["content"]]
    return {**shown, "content": content}


def response(shown: Json) -> Json:
    rest = {key: value for key, value in shown.items() if key != "output_modalities"}
    spoken = _then("modalities", shown["output_modalities"])
    return {**rest, "modalities": spoken, "output": [item(one) for one in shown["output"]]}


def _parent(session: Json, path: tuple[str, ...]) -> tuple[Json, str]:
    held = session
    for step in path[:-1]:
        held = held.get(step) or {}
    return held, path[-1]


def _then(name: str, value: Any) -> Any:
    if name.endswith("_audio_format"):
        return _FORMAT_NAMES[value["type"]]
    if name == "modalities" and value == ["audio"]:
        return ["text", "audio"]  # there was no audio without its text
    return value


def _today(name: str, value: Any) -> Any:
    if name.endswith("_audio_format") and isinstance(value, str):
        return {"type": FORMATS.get(value, value)}
    return value
