"""The frames of the dialect. Field names and orders are the public protocol's (GA, 2026).

Every frame has `type` and `event_id`; `output_index` and `content_index` are always present where they
belong; integers are integers. Audio deltas carry the event's payload: base64 of mono pcm16 at 24 kHz, or what
a telephone makes of it.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from antiphon.projections.duplex.formats import Format

Json = dict[str, Any]
ErrorType = Literal["invalid_request_error", "rate_limit_error", "server_error"]


class Frame(Struct, frozen=True, kw_only=True, tag_field="type", gc=False):
    event_id: str


class SessionCreated(Frame, frozen=True, kw_only=True, tag="session.created"):
    session: Json


class SessionUpdated(Frame, frozen=True, kw_only=True, tag="session.updated"):
    session: Json


class ErrorBody(Struct, frozen=True, kw_only=True):
    type: ErrorType
    code: str
    message: str
    param: str | None = None
    event_id: str | None = None


class Error(Frame, frozen=True, kw_only=True, tag="error"):
    error: ErrorBody


class SpeechStarted(Frame, frozen=True, kw_only=True, tag="input_audio_buffer.speech_started"):
    audio_start_ms: int
    item_id: str


class SpeechStopped(Frame, frozen=True, kw_only=True, tag="input_audio_buffer.speech_stopped"):
    audio_end_ms: int
    item_id: str


class Committed(Frame, frozen=True, kw_only=True, tag="input_audio_buffer.committed"):
    previous_item_id: str | None
    item_id: str


class Cleared(Frame, frozen=True, kw_only=True, tag="input_audio_buffer.cleared"):
    pass


class ItemAdded(Frame, frozen=True, kw_only=True, tag="conversation.item.added"):
    previous_item_id: str | None
    item: Json


class ItemDone(Frame, frozen=True, kw_only=True, tag="conversation.item.done"):
    previous_item_id: str | None
    item: Json


class ItemRetrieved(Frame, frozen=True, kw_only=True, tag="conversation.item.retrieved"):
    item: Json


class ItemDeleted(Frame, frozen=True, kw_only=True, tag="conversation.item.deleted"):
    item_id: str


class ItemTruncated(Frame, frozen=True, kw_only=True, tag="conversation.item.truncated"):
    item_id: str
    content_index: int
    audio_end_ms: int


class DurationUsage(Struct, frozen=True, kw_only=True, tag_field="type", tag="duration"):
    seconds: float


class Transcribed(
    Frame, frozen=True, kw_only=True, tag="conversation.item.input_audio_transcription.completed"
):
    item_id: str
    content_index: int
    transcript: str
    usage: DurationUsage


class TranscriptionFailed(
    Frame, frozen=True, kw_only=True, tag="conversation.item.input_audio_transcription.failed"
):
    item_id: str
    content_index: int
    error: Json


class ResponseCreated(Frame, frozen=True, kw_only=True, tag="response.created"):
    response: Json


class ResponseDone(Frame, frozen=True, kw_only=True, tag="response.done"):
    response: Json


class OutputItemAdded(Frame, frozen=True, kw_only=True, tag="response.output_item.added"):
    response_id: str
    output_index: int
    item: Json


class OutputItemDone(Frame, frozen=True, kw_only=True, tag="response.output_item.done"):
    response_id: str
    output_index: int
    item: Json


class InPart(Frame, frozen=True, kw_only=True):
    """Base of frames about one content part of a response's item."""

    response_id: str
    item_id: str
    output_index: int = 0
    content_index: int = 0


class PartAdded(InPart, frozen=True, kw_only=True, tag="response.content_part.added"):
    part: Json


class PartDone(InPart, frozen=True, kw_only=True, tag="response.content_part.done"):
    part: Json


class AudioDelta(InPart, frozen=True, kw_only=True, tag="response.output_audio.delta"):
    """`delta` is filled in by the attachment, from the event's payload.

    `form` tells it how, where that is not as the payload has it, and is not sent.
    """

    delta: bytes = b""
    form: Format | UnsetType = UNSET


class AudioDone(InPart, frozen=True, kw_only=True, tag="response.output_audio.done"):
    pass


class TranscriptDelta(InPart, frozen=True, kw_only=True, tag="response.output_audio_transcript.delta"):
    delta: str


class TranscriptDone(InPart, frozen=True, kw_only=True, tag="response.output_audio_transcript.done"):
    transcript: str


class OfCall(Frame, frozen=True, kw_only=True):
    """Base of frames about a function call's arguments."""

    response_id: str
    item_id: str
    output_index: int
    call_id: str


class ArgumentsDelta(OfCall, frozen=True, kw_only=True, tag="response.function_call_arguments.delta"):
    delta: str


class ArgumentsDone(OfCall, frozen=True, kw_only=True, tag="response.function_call_arguments.done"):
    name: str
    arguments: str


class TextDelta(InPart, frozen=True, kw_only=True, tag="response.output_text.delta"):
    delta: str


class TextDone(InPart, frozen=True, kw_only=True, tag="response.output_text.done"):
    text: str
