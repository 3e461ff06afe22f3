"""Audio formats, WAV files, and media as data URLs. Everything is mono."""

from __future__ import annotations

import base64
import wave
from dataclasses import dataclass
from os import PathLike

SAMPLE_BYTES = {"pcm16": 2, "pcm_f32le": 4, "g711_ulaw": 1, "g711_alaw": 1}
"""The encodings of raw samples, and the bytes of one."""

Path = str | PathLike[str]


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """How raw samples are written: little-endian, mono."""

    encoding: str = "pcm16"
    """pcm16, pcm_f32le, g711_ulaw or g711_alaw."""
    rate: int = 24_000
    """Samples per second."""

    def __post_init__(self) -> None:
        if self.encoding not in SAMPLE_BYTES:
            raise ValueError(f"an encoding is one of {', '.join(SAMPLE_BYTES)}, not {self.encoding!r}")
        if not 8_000 <= self.rate <= 192_000:
            raise ValueError(f"a rate is 8000 to 192000 samples per second, not {self.rate}")

    @property
    def bytes_per_sample(self) -> int:
        return SAMPLE_BYTES[self.encoding]

    def duration_ms(self, audio: bytes | int) -> float:
        """How long these bytes (or that many) sound."""
        length = audio if isinstance(audio, int) else len(audio)
        return length * 1000 / (self.bytes_per_sample * self.rate)

    def byte_count(self, duration_ms: float) -> int:
        """The bytes of so much sound, in whole samples."""
        return int(duration_ms * self.rate / 1000) * self.bytes_per_sample

    @property
    def as_payload(self) -> dict[str, object]:
        """As a session object has it."""
        return {"type": self.encoding, "rate": self.rate}


def read_pcm16_wav(path: Path) -> tuple[bytes, int]:
    """The samples of a WAV file and their rate. Raises ValueError if they are not mono with 16 bits."""
    with wave.open(str(path), "rb") as file:
        if (file.getnchannels(), file.getsampwidth()) != (1, 2):
            shape = f"{file.getnchannels()} channels of {8 * file.getsampwidth()} bits"
            raise ValueError(f"{path} has {shape}; one channel of 16 bits is wanted")
        return file.readframes(file.getnframes()), file.getframerate()


def write_pcm16_wav(path: Path, pcm: bytes, rate: int = 24_000) -> None:
    """Mono samples of 16 bits as a WAV file."""
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(pcm)


def audio_data_url(wav: bytes) -> str:
    """A WAV file's bytes as a data URL, as `ref_audio` wants it."""
    if wav[:4] != b"RIFF":
        raise ValueError("these are not the bytes of a WAV file")
    return f"data:audio/wav;base64,{base64.b64encode(wav).decode()}"


def image_data_url(image: bytes) -> str:
    """A JPEG's or PNG's bytes as a data URL, as an item's `image_url` wants it."""
    if image[:2] == b"\xff\xd8":
        kind = "jpeg"
    elif image[:4] == b"\x89PNG":
        kind = "png"
    else:
        raise ValueError("these are the bytes of neither a JPEG nor a PNG")
    return f"data:image/{kind};base64,{base64.b64encode(image).decode()}"
