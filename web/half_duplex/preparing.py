"""What `prepare` asks for, as a command: the texts become the instructions, the numbers the configuration.

What this server cannot do is named in the command (`not_applied`) and told with `prepared`; nothing of it is
passed over in silence. A reference sound is given to stages that confirm their configuration, as a WAV file
in a data URL (`engine.ref_audio`): they take it, or refuse the configuration and say why.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from msgspec import UNSET, to_builtins

from antiphon.actors.modes.half_duplex.commands import Prepare
from antiphon.actors.session.commands import Configure
from antiphon.events.vocabulary import NotApplied, TurnDetection
from antiphon.media.encodings import WIDTH, to_samples
from antiphon.media.wav import write_wav

from . import frames as f

REFERENCE_RATE = 16_000
USUAL = "You are a helpful assistant."
NO_REFERENCE = "the model behind this server speaks in its own voice: the reference is not used"


def command(frame: f.Prepare, *, speaks: bool, recorded: bool, asks_stage: bool) -> Prepare:
    """`speaks`: the model has a voice. `recorded`: the call's audio is kept. `asks_stage`: the stage says
    whether it takes a configuration."""
    config = frame.config or f.CallConfig()
    items = _items(frame)
    texts = [text for text, _ in items if text]
    wanted = config.tts.enabled is not False
    voice = next((found for _, sound in items if sound and (found := _voice(sound)) is not None), None)
    used = asks_stage and voice is not None
    return Prepare(
        configuration=Configure(
            instructions="\n".join(texts) or USUAL,
            turn_detection=_detection(config.vad),
            temperature=config.generation.temperature,
            max_output_tokens=config.generation.max_new_tokens,
            output_modalities=("audio",) if speaks and wanted else ("text",),
            engine={"ref_audio": voice} if used else UNSET,
        ),
        lasts_ms=round(config.session.timeout_s * 1000),
        settings=_settings(config, len(items), speaks=speaks and wanted),
        not_applied=tuple(_not_applied(config, items, speaks=speaks, voice_used=used)),
        recorded=recorded,
    )


def _items(frame: f.Prepare) -> list[tuple[str, Any]]:
    """Texts and sounds in their order, as (text, ""), or ("", what stands where a sound should)."""
    given = frame.system_content
    if given is None:
        said: list[tuple[str, Any]] = [(frame.system_prompt, "")] if frame.system_prompt else []
        return [*said, ("", frame.ref_audio_base64)] if frame.ref_audio_base64 else said
    if isinstance(given, str):
        return [(given, "")] if given else []
    return [found for item in given if (found := _item(item)) is not None]


def _item(item: Any) -> tuple[str, Any] | None:
    """None: it is of no kind that means anything here."""
    match item:
        case {"type": "text", "text": str(text)} if text:
            return text, ""
        case {"type": "audio", "data": str(sound)} if sound:
            return "", sound
        case _:
            return None


def _detection(vad: f.Vad) -> TurnDetection:
    return TurnDetection(
        threshold_permille=round(1000 * vad.threshold),
        prefix_padding_ms=vad.speech_pad_ms,
        silence_duration_ms=vad.min_silence_duration_ms,
        min_speech_ms=vad.min_speech_duration_ms,
        create_response=False,
        interrupt_response=False,
        kind="segment",
    )


def _settings(config: f.CallConfig, items: int, *, speaks: bool) -> dict[str, Any]:
    """As the recording of the call keeps them."""
    return {
        "system_content_count": items,
        "vad": to_builtins(config.vad),
        "generation": to_builtins(config.generation),
        "tts_enabled": speaks,
        "timeout_s": config.session.timeout_s,
    }


def _not_applied(
    config: f.CallConfig, items: list[tuple[str, Any]], *, speaks: bool, voice_used: bool
) -> Iterator[NotApplied]:
    if config.tts.enabled and not speaks:
        yield NotApplied("config.tts.enabled", "the model behind this server writes and does not speak")
    if config.generation.length_penalty is not None:
        told = "the model behind this server knows no length penalty"
        yield NotApplied("config.generation.length_penalty", told)
    sounds = [sound for _, sound in items if sound]
    if sounds and not voice_used:
        told = NO_REFERENCE if any(map(_voice, sounds)) else "this is not base64 of float32 samples"
        yield NotApplied("system_content.audio", told)


def _voice(encoded: str) -> str | None:
    """The sound as a WAV file in a data URL; None: it is none."""
    try:
        raw = base64.b64decode(encoded, validate=True)
        samples = to_samples(raw, "pcm_f32le") if raw and len(raw) % WIDTH["pcm_f32le"] == 0 else None
    except ValueError:  # no base64, or NotSamples
        return None
    if samples is None:
        return None
    return "data:audio/wav;base64," + base64.b64encode(write_wav(samples, REFERENCE_RATE)).decode()
