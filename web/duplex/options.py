"""What is asked for one answer only: response.create, from the wire to a command.

Whether the stage can do it is the session's to say; what no stage does is refused here by the same code.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from antiphon.actors.session.commands import CreateResponse
from antiphon.events.vocabulary import AudioFormat, Config
from antiphon.projections.duplex import formats
from antiphon.web.realtime.undecodable import Undecodable, explain

from . import frames as f
from .formats import output_format
from .limits import modalities, speed, temperature, tokens
from .members import AudioOut

REFUSED = ("tools", "tool_choice", "input")


class OptionsAudio(Struct, frozen=True, kw_only=True):
    output: AudioOut = AudioOut()


class Options(Struct, frozen=True, kw_only=True):
    modalities: list[str] | None = None
    output_modalities: list[str] | None = None
    instructions: str | None = None
    voice: str | None = None
    audio: OptionsAudio = OptionsAudio()
    output_audio_format: str | f.Format | None = None
    response_format: str | f.Format | None = None
    temperature: float | None = None
    speed: float | None = None
    max_response_output_tokens: int | str | UnsetType | None = UNSET
    max_output_tokens: int | str | UnsetType | None = UNSET
    max_tokens: int | str | UnsetType | None = UNSET
    conversation: str | None = None
    metadata: dict[str, str] | None = None
    tools: Any = None
    tool_choice: Any = None
    input: Any = None


def create_response(frame: f.ResponseCreate, present: Config) -> CreateResponse:
    """Raises Undecodable; then nothing was asked."""
    event = frame.event_id
    try:
        asked = msgspec.convert(frame.response, Options)
    except msgspec.ValidationError as error:
        raise explain(error, event, "response") from error
    _refuse(asked, event)
    given = asked.output_modalities if asked.output_modalities is not None else asked.modalities
    length = next(
        (
            one
            for one in (asked.max_response_output_tokens, asked.max_output_tokens, asked.max_tokens)
            if one is not UNSET
        ),
        UNSET,
    )
    most = tokens(length, "response.max_output_tokens", event)
    pace = asked.speed if asked.audio.output.speed is None else asked.audio.output.speed
    hot = temperature(asked.temperature, "response.temperature", event)
    return CreateResponse(
        client_event=event,
        modalities=None if given is None else modalities(given, "response.output_modalities", event),
        instructions=asked.instructions,
        voice=asked.audio.output.voice or asked.voice,
        temperature=hot if isinstance(hot, float) else None,
        max_output_tokens=most if isinstance(most, int) else None,
        speed=speed(pace, "response.speed", event),
        audio_format=_format(asked, present, event),
        metadata=asked.metadata,
        in_history=asked.conversation != "none",
    )


def _refuse(asked: Options, client_event: str | None) -> None:
    for name in REFUSED:
        if getattr(asked, name) is not None:
            message = f"{name} cannot be given for one answer only: it is the session's"
            raise Undecodable(
                "unsupported_native_response_options", message, f"response.{name}", client_event
            )


def _format(asked: Options, present: Config, client_event: str | None) -> AudioFormat | None:
    """That of this answer, if it is not the session's."""
    named = asked.audio.output.format or asked.output_audio_format or asked.response_format
    holds = formats.output_format(present)
    given = asked.audio.output.sample_rate_hz
    wanted = output_format(named, given, holds, "response.output_audio_format", client_event)
    return None if wanted == holds else AudioFormat(wanted.encoding, wanted.rate)
