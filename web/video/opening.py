"""How a stream begins: with its client's `session.config`, which must come within CONFIG_TIMEOUT_S.

Values are read as leniently as clients of this protocol send them: numbers and truth values may be text, and
members that nobody knows are passed over. Whatever fails here ends the connection, after one error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from antiphon.events.vocabulary import Abilities, Config, VideoOptions
from antiphon.web.dialect import Beginning, Receive
from antiphon.web.duplex.opening import first_message
from antiphon.web.intake import read_aside
from antiphon.web.realtime.undecodable import Undecodable

CONFIG = "session.config"
INVALID = "invalid_config"
ALIASES = {
    "num_sample_frames": "num_frames",
    "evs_enabled": "enable_frame_filter",
    "evs_threshold": "frame_filter_threshold",
}
"""Earlier names, which count where the present one is missing."""
FLAGS = ("use_audio_in_video", "enable_frame_filter")
WORDS = {"yes": True, "y": True, "on": True, "t": True, "no": False, "n": False, "off": False, "f": False}


class SessionConfig(Struct, frozen=True, kw_only=True):
    """The message as a client means it."""

    model: str | None = None
    modalities: tuple[str, ...] = ("text", "audio")
    num_frames: Annotated[int, Meta(ge=1, le=128)] = 4
    max_frames: Annotated[int, Meta(ge=1, le=256)] = 50
    system_prompt: str | None = None
    use_audio_in_video: bool = True
    sampling_params_list: tuple[dict[str, Any], ...] | None = None
    enable_frame_filter: bool = True
    frame_filter_threshold: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.95


async def begin(
    query: Mapping[str, str], receive: Receive, abilities: Callable[[], Abilities], model: str
) -> Beginning:
    """Raises Undecodable, Left, and whatever asking for abilities raises."""
    able = abilities()
    if not able.sees or not able.reads or able.hears != "utterances":
        raise Undecodable("video_unavailable", "Streaming video chat is not available")
    text = await _first(receive)
    return await read_aside(text, lambda text: Beginning(_config(read_config(text), able, model)))


async def _first(receive: Receive) -> str:
    try:
        return await first_message(receive)
    except Undecodable as bad:
        if bad.code == "config_timeout":
            raise Undecodable("config_timeout", f"Timeout waiting for {CONFIG}") from bad
        raise Undecodable(INVALID, f"Invalid JSON in {CONFIG}") from bad


def read_config(text: str) -> SessionConfig:
    """Raises Undecodable."""
    try:
        message = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise Undecodable(INVALID, f"Invalid JSON in {CONFIG}") from error
    kind = message.get("type") if isinstance(message, dict) else _json_name(message)
    if kind != CONFIG or not isinstance(message, dict):
        raise Undecodable(INVALID, f"Expected {CONFIG}, got: {str(kind)[:80]}")
    try:
        return msgspec.convert(_named_today(message), SessionConfig, strict=False)
    except msgspec.ValidationError as error:
        raise Undecodable(INVALID, f"Invalid session config: {error}") from error


def _named_today(message: dict[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in message.items() if name not in ("type", *ALIASES)}
    for earlier, name in ALIASES.items():
        if earlier in message and name not in message:
            given[name] = message[earlier]
    for name in FLAGS:
        value = given.get(name)
        if isinstance(value, str):
            given[name] = WORDS.get(value.strip().lower(), value)
    return given


def _json_name(value: Any) -> str:
    if value is None:
        return "null"
    names = {list: "array", str: "string", bool: "boolean"}
    return names.get(type(value), "number")


def _config(asked: SessionConfig, able: Abilities, model: str) -> Config:
    """Of the modalities only audio makes a difference: words always come."""
    speaks = able.speaks and "audio" in asked.modalities
    return Config(
        model=asked.model or model or "default",
        instructions=asked.system_prompt or "",
        output_modalities=("text", "audio") if speaks else ("text",),
        playback="commit_all_on_done",
        video=VideoOptions(
            num_frames=asked.num_frames,
            max_frames=asked.max_frames,
            audio_in_video=asked.use_audio_in_video,
            sampling=asked.sampling_params_list,
            filter_threshold=asked.frame_filter_threshold if asked.enable_frame_filter else None,
        ),
    )
