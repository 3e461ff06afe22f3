"""WAV files: RIFF chunks around mono or stereo samples.

Reads 16-bit and 32-bit float, plain and extensible, at any rate; writes plain. Chunks other than `fmt `
and `data` are skipped. A data chunk that claims more bytes than the file has is refused, except for the sizes
0 and 0xFFFFFFFF that programs write when they stream into a pipe: there the rest of the file is the data.

WavError
  NotWav            the bytes are no RIFF/WAVE file, or lack a chunk that it must have
  UnsupportedWav    a WAV, but compressed, of another width, or with more than two channels
  TruncatedWav      the file ends before its samples do
"""

import struct
from typing import ClassVar, Literal

import numpy as np
from msgspec import Struct

from .pcm import Float32, to_float, to_pcm

Encoding = Literal["pcm16", "float32"]

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_STREAMED = (0, 0xFFFFFFFF)


class WavError(ValueError):
    """Base of everything a WAV can be refused for. `code` is stable."""

    code: ClassVar[str] = "wav_error"


class NotWav(WavError):
    code = "not_wav"


class UnsupportedWav(WavError):
    code = "unsupported_wav"


class TruncatedWav(WavError):
    code = "truncated_wav"


class Sound(Struct, frozen=True):
    """Samples as float32, shape (n,), and how many of them fill a second."""

    samples: Float32
    rate: int


class _Format(Struct, frozen=True):
    encoding: Encoding
    channels: int
    rate: int


def read_wav(contents: bytes) -> Sound:
    """The sound of a WAV file's bytes; stereo is mixed to mono. Raises WavError."""
    if len(contents) < 12 or contents[:4] != b"RIFF" or contents[8:12] != b"WAVE":
        raise NotWav("the file does not begin with RIFF and WAVE")
    fmt: _Format | None = None
    at = 12
    while at + 8 <= len(contents):
        name, size = contents[at : at + 4], struct.unpack_from("<I", contents, at + 4)[0]
        body = contents[at + 8 : at + 8 + size]
        if name == b"fmt ":
            fmt = _read_format(body)
        elif name == b"data":
            return _read_samples(contents[at + 8 :] if size in _STREAMED else body, size, fmt)
        at += 8 + size + size % 2  # chunks begin at even places
    raise NotWav("there is no data chunk")


def _read_format(body: bytes) -> _Format:
    if len(body) < 16:
        raise NotWav("the fmt chunk is too short")
    kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", body)
    if kind == _EXTENSIBLE and len(body) >= 26:
        kind = struct.unpack_from("<H", body, 24)[0]  # the first field of the subformat's GUID
    encodings: dict[tuple[int, int], Encoding] = {(_PCM, 16): "pcm16", (_FLOAT, 32): "float32"}
    encoding = encodings.get((kind, bits))
    if encoding is None:
        raise UnsupportedWav(f"format {kind} with {bits} bits; wanted 16-bit PCM or 32-bit float")
    if channels not in (1, 2):
        raise UnsupportedWav(f"{channels} channels; wanted one or two")
    if rate == 0:
        raise NotWav("a sample rate of 0")
    return _Format(encoding, channels, rate)


def _read_samples(body: bytes, size: int, fmt: _Format | None) -> Sound:
    if fmt is None:
        raise NotWav("the data chunk comes before the fmt chunk")
    if size not in _STREAMED and len(body) < size:
        raise TruncatedWav(f"{size} bytes of samples announced, {len(body)} found")
    frame = fmt.channels * (2 if fmt.encoding == "pcm16" else 4)
    body = body[: len(body) - len(body) % frame]
    samples = to_float(body) if fmt.encoding == "pcm16" else np.frombuffer(body, "<f4").astype(np.float32)
    if fmt.channels == 2:
        samples = samples.reshape(-1, 2).mean(axis=1, dtype=np.float32)
    return Sound(samples, fmt.rate)


def write_wav(samples: Float32, rate: int, *, encoding: Encoding = "pcm16") -> bytes:
    """The bytes of a WAV file of `samples`, shape (n,) for mono or (n, 2) for stereo."""
    channels = 1 if samples.ndim == 1 else samples.shape[1]
    if channels not in (1, 2):
        raise UnsupportedWav(f"{channels} channels; one or two can be written")
    kind, bits = (_PCM, 16) if encoding == "pcm16" else (_FLOAT, 32)
    body = to_pcm(samples) if encoding == "pcm16" else samples.astype("<f4").tobytes()
    frame = channels * bits // 8
    head = struct.pack("<HHIIHH", kind, channels, rate, rate * frame, frame, bits)
    chunks = b"fmt " + struct.pack("<I", len(head)) + head + b"data" + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks
