"""What a client asks of its session. The server answers with what holds: `DuplexClient.session_info`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from .audio import AudioFormat

Json = dict[str, Any]
OverlapPolicy = Literal["listen_only", "barge_in_on_speech"]
PlaybackPolicy = Literal["ack_only", "commit_all_on_done", "estimate"]
HEARD, SPOKEN = AudioFormat("pcm16", 16_000), AudioFormat("pcm16", 24_000)


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionConfig:
    """None leaves a member to the server."""

    modalities: tuple[str, ...] = ("audio", "text")
    input_audio: AudioFormat = HEARD
    """Of the bytes that `append_audio` is given."""
    output_audio: AudioFormat = SPOKEN
    """Of the bytes that answers come in."""
    instructions: str | None = None
    ref_audio: str | None = None
    """The voice to speak with, as a data URL (`audio_data_url`), for models that take one."""
    voice: str | None = None
    auto_response: bool = True
    """Input is answered without `response.create`."""
    temperature: float | None = None
    overlap_policy: OverlapPolicy | None = None
    playback_commit_policy: PlaybackPolicy | None = None
    turn_detection: Json | None = None
    """None: the model, or `commit`, ends the user's turn."""
    idle_timeout_s: float | None = None
    tools: tuple[Json, ...] = ()
    extra_body: Json = field(default_factory=dict)
    """The model's own options."""

    def to_session_payload(self, *, model: str | None = None) -> Json:
        """The `session` of a session.update."""
        payload: Json = {
            "model": model or None,
            "modalities": list(self.modalities),
            "input_audio_format": self.input_audio.as_payload,
            "output_audio_format": self.output_audio.as_payload,
            "instructions": self.instructions,
            "ref_audio": self.ref_audio,
            "voice": self.voice,
            "temperature": self.temperature,
            "overlap_policy": self.overlap_policy,
            "playback_commit_policy": self.playback_commit_policy,
            "turn_detection": self.turn_detection,
            "idle_timeout_s": self.idle_timeout_s,
            "tools": list(self.tools) or None,
            "extra_body": {"auto_response": self.auto_response, **self.extra_body},
        }
        return {name: value for name, value in payload.items() if value is not None}
