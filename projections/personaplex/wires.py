"""The two wires of a continuous call: how its frames look in bytes.

                 /api/chat: one byte of tag, then      /v1/audio/duplex: JSON text, or binary
    Ready        00                                    {"type":"ready"}
    Audio        01 and pages of Ogg Opus              binary: float32, little-endian, 24 kHz
    Text         02 and UTF-8                          {"type":"text","text":…}
    Metadata     04 and JSON                           {"type":"session",…}
    Error        05 and UTF-8: CODE: MESSAGE           {"type":"error","error":…,"code":…}
    Done                                               {"type":"done"}

Sound is not encoded here: its place is empty, in the digest it is the checksum of its PCM, and the edge puts
it in (web/personaplex). Opus is never compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from . import frames as f

READY, AUDIO, TEXT, METADATA, ERROR, PING = 0, 1, 2, 4, 5, 6


def tagged(frame: f.Frame) -> bytes:
    """As /api/chat has it."""
    match frame:
        case f.Ready():
            return bytes((READY,))
        case f.Audio(pcm=pcm):
            return bytes((AUDIO,)) + pcm
        case f.Text(text=text):
            return bytes((TEXT,)) + text.encode()
        case f.Error(code=code, message=message):
            return bytes((ERROR,)) + f"{code}: {message}".encode()
        case _:
            return bytes((METADATA,)) + msgspec.json.encode(frame)


Members = Callable[[Any], dict[str, str]]

_MEMBERS: Mapping[type[f.Frame], Members] = {
    f.Ready: lambda frame: {"type": "ready"},
    f.Text: lambda frame: {"type": "text", "text": frame.text},
    f.Metadata: lambda frame: {
        "type": "session",
        "session_id": frame.session_id,
        "resume_token": frame.resume_token,
    },
    f.Error: lambda frame: {"type": "error", "error": frame.message, "code": frame.code},
    f.Done: lambda frame: {"type": "done"},
}


def untagged(frame: f.Frame) -> bytes:
    """As /v1/audio/duplex has it; sound is all there is of its frame."""
    if isinstance(frame, f.Audio):
        return frame.pcm
    return msgspec.json.encode(_MEMBERS[type(frame)](frame))
