"""The client's frames: JSON text. Members that nobody knows are passed over."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

SpeechMs: TypeAlias = Annotated[int, Meta(ge=0, le=10_000)]


class Vad(Struct, frozen=True):
    """When the user speaks. Speech begins in a window of 32 ms at `threshold`, and goes on above threshold -
    0.15."""

    threshold: Annotated[float, Meta(gt=0.15, le=1)] = 0.8
    min_speech_duration_ms: SpeechMs = 128
    min_silence_duration_ms: Annotated[int, Meta(ge=32, le=10_000)] = 800
    speech_pad_ms: Annotated[int, Meta(ge=0, le=1_000)] = 30


class Generation(Struct, frozen=True):
    max_new_tokens: Annotated[int, Meta(ge=1, le=4_096)] = 256
    length_penalty: Annotated[float, Meta(ge=0.1, le=5)] | None = None
    """None: nobody asked for any."""
    temperature: Annotated[float, Meta(ge=0, le=2)] = 0.7


class Tts(Struct, frozen=True):
    enabled: bool | None = None
    """None: as the server can."""


class SessionTime(Struct, frozen=True):
    timeout_s: Annotated[float, Meta(gt=0, le=86_400)] = 180


class CallConfig(Struct, frozen=True):
    """How the call is to go; what is left out is as it stands here."""

    vad: Vad = Vad()
    generation: Generation = Generation()
    tts: Tts = Tts()
    session: SessionTime = SessionTime()


class Frame(Struct, frozen=True, tag_field="type"):
    pass


class Prepare(Frame, frozen=True, kw_only=True, tag="prepare"):
    """Begin, or begin anew. `system_content` is text, or a list of texts and sounds; it goes before
    `system_prompt` and `ref_audio_base64`, which say the same in the earlier words."""

    system_content: list[Any] | str | None = None
    system_prompt: str | None = None
    ref_audio_base64: str | None = None
    config: CallConfig | None = None


class AudioChunk(Frame, frozen=True, kw_only=True, tag="audio_chunk"):
    """Mono float32, little-endian, at 16 kHz, in base64; none is no mistake."""

    audio_base64: str | None = None


class Stop(Frame, frozen=True, tag="stop"):
    pass


ClientFrame: TypeAlias = Prepare | AudioChunk | Stop
