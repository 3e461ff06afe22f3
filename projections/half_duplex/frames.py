"""The frames of a half-duplex call. Names and meanings are those of the MiniCPM-o demo's protocol.

Where that protocol has no member for something (`not_applied`, `code`), its clients pass over ours. Frames of
the queue are replies: no event holds them.
"""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from antiphon.events.units import SAMPLE_RATE
from antiphon.events.vocabulary import NotApplied


class Frame(Struct, frozen=True, kw_only=True, tag_field="type", gc=False):
    pass


class Queued(Frame, frozen=True, kw_only=True, tag="queued"):
    """All places are taken. `position` counts from 1; `estimated_wait_s` has one decimal."""

    position: int
    estimated_wait_s: float
    ticket_id: str
    queue_length: int


class QueueUpdate(Frame, frozen=True, kw_only=True, tag="queue_update"):
    position: int
    estimated_wait_s: float
    queue_length: int


class QueueDone(Frame, frozen=True, kw_only=True, tag="queue_done"):
    """The client has its place; said to everybody, also to who need not wait."""


class Prepared(Frame, frozen=True, kw_only=True, tag="prepared"):
    """The call lasts `timeout_s` from here. `not_applied`: what was asked for and cannot be done here."""

    session_id: str
    timeout_s: float
    recording_session_id: str | UnsetType = UNSET
    not_applied: tuple[NotApplied, ...] | UnsetType = UNSET


class VadState(Frame, frozen=True, kw_only=True, tag="vad_state"):
    """Said when it changes."""

    speaking: bool


class Generating(Frame, frozen=True, kw_only=True, tag="generating"):
    """A segment of that length, its padding included, is being answered."""

    speech_duration_ms: int


class Chunk(Frame, frozen=True, kw_only=True, tag="chunk"):
    """Words of an answer, or its end (`is_final`: neither words nor sound). `chunk_index` counts from 0 in
    each turn."""

    chunk_index: int
    text_delta: str | None = None
    audio_data: None = None
    audio_sample_rate: int = SAMPLE_RATE
    is_final: bool = False
    duration_ms: int = 0


class AudioChunk(Frame, frozen=True, kw_only=True, tag="chunk"):
    """Sound of an answer, mono float32 (little-endian) at 24 kHz in base64, `duration_ms` long."""

    chunk_index: int
    text_delta: None = None
    audio_data: bytes = b""
    audio_sample_rate: int = SAMPLE_RATE
    is_final: bool = False
    duration_ms: int


class TurnDone(Frame, frozen=True, kw_only=True, tag="turn_done"):
    """`turn_index` counts the answers that ended by themselves since `prepared`, from 1."""

    turn_index: int
    text: str


class Timeout(Frame, frozen=True, kw_only=True, tag="timeout"):
    """The call's time is over, `elapsed_s` after `prepared`; the connection ends."""

    elapsed_s: float


class Stopped(Frame, frozen=True, kw_only=True, tag="stopped"):
    session_id: str


class Error(Frame, frozen=True, kw_only=True, tag="error"):
    """`code` is stable, `error` is for people. The call goes on, unless the connection ends right behind
    it."""

    error: str
    code: str
