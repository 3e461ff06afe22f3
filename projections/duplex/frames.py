"""The server's frames. Names are the public protocol's (GA) where it has one.

Every frame has `type` and `event_id`. `server_event_seq` numbers the frames that events amount to: it grows
and never restarts; replies that no event holds have none. Whatever belongs to a response carries its `epoch`
and `turn_id`.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

Json = dict[str, Any]
ErrorType = Literal["invalid_request_error", "rate_limit_error", "server_error"]


class Frame(Struct, frozen=True, kw_only=True, tag_field="type", gc=False):
    event_id: str
    server_event_seq: int | UnsetType = UNSET


# --- the session ------------------------------------------------------------------------------------------


class SessionCreated(Frame, frozen=True, kw_only=True, tag="session.created"):
    """`resume_token` is filled in by the attachment: no event holds it. Observers have none."""

    session: Json
    incarnation: int
    attachment_generation: int | UnsetType = UNSET
    resume_token: str | UnsetType = UNSET


class SessionResumed(Frame, frozen=True, kw_only=True, tag="session.resumed"):
    """The first frame of a connection that resumed: a reply. `session` is as it was after the frame
    `as_of_server_event_seq`, the last that the client has; what it missed follows."""

    session_id: str
    session: Json
    attachment_generation: int
    resume_token: str
    incarnation: int
    as_of_server_event_seq: int
    last_accepted_client_event_id: str | None


class SessionReplaced(Frame, frozen=True, kw_only=True, tag="session.replaced"):
    """The last frame of a connection whose place another has taken."""

    session_id: str
    attachment_generation: int


class ResyncRequired(Frame, frozen=True, kw_only=True, tag="session.resync_required"):
    """What the client missed cannot be told any more: a reply, and its last frame."""

    session_id: str
    reason: Literal["journal_gap", "journal_overflow"]


class SessionUpdated(Frame, frozen=True, kw_only=True, tag="session.updated"):
    session: Json
    config_generation: int


class SessionClosed(Frame, frozen=True, kw_only=True, tag="session.closed"):
    """The last frame of a session."""

    session_id: str
    reason: str
    event: Json


class SessionExpired(Frame, frozen=True, kw_only=True, tag="session.expired"):
    """The last frame of a session whose time was over."""

    session_id: str
    reason: str


class HeartbeatAck(Frame, frozen=True, kw_only=True, tag="session.heartbeat_ack"):
    session_id: str


class TurnEvent(Frame, frozen=True, kw_only=True, tag="turn.event"):
    """`model_turn_id` counts the model's turns, which end as it decides; only where one has ended."""

    session_id: str
    event: str
    turn_state: str
    epoch: int
    turn_id: int
    model_turn_id: int | UnsetType = UNSET


class OverlapDecision(Frame, frozen=True, kw_only=True, tag="overlap.decision"):
    session_id: str
    epoch: int
    policy: str
    action: str
    reason: str
    metadata: Json


class ErrorBody(Struct, frozen=True, kw_only=True):
    type: ErrorType
    code: str
    message: str
    param: str | None = None
    event_id: str | None = None
    retryable: bool = False


class Error(Frame, frozen=True, kw_only=True, tag="error"):
    error: ErrorBody


# --- input and items --------------------------------------------------------------------------------------


class SpeechStarted(Frame, frozen=True, kw_only=True, tag="input_audio_buffer.speech_started"):
    audio_start_ms: int
    item_id: str


class SpeechStopped(Frame, frozen=True, kw_only=True, tag="input_audio_buffer.speech_stopped"):
    audio_end_ms: int
    item_id: str


class Committed(Frame, frozen=True, kw_only=True, tag="input_audio_buffer.committed"):
    previous_item_id: str | None
    item_id: str
    event: Json


class Cleared(Frame, frozen=True, kw_only=True, tag="input_audio_buffer.cleared"):
    pass


class AboutItem(Frame, frozen=True, kw_only=True):
    """Base of frames that show an item in its place."""

    previous_item_id: str | None
    item: Json


class ItemAdded(AboutItem, frozen=True, kw_only=True, tag="conversation.item.added"):
    pass


class ItemCreated(AboutItem, frozen=True, kw_only=True, tag="conversation.item.created"):
    """Says what conversation.item.added says, under the protocol's earlier name."""


class ItemDone(AboutItem, frozen=True, kw_only=True, tag="conversation.item.done"):
    pass


class ItemRetrieved(Frame, frozen=True, kw_only=True, tag="conversation.item.retrieved"):
    item: Json


class ItemDeleted(Frame, frozen=True, kw_only=True, tag="conversation.item.deleted"):
    item_id: str
    event: Json


class ItemTruncated(Frame, frozen=True, kw_only=True, tag="conversation.item.truncated"):
    item_id: str
    content_index: int
    audio_end_ms: int
    event: Json


class Transcribed(
    Frame, frozen=True, kw_only=True, tag="conversation.item.input_audio_transcription.completed"
):
    item_id: str
    content_index: int
    transcript: str
    usage: Json


class TranscriptionFailed(
    Frame, frozen=True, kw_only=True, tag="conversation.item.input_audio_transcription.failed"
):
    item_id: str
    content_index: int
    error: Json


# --- playback ---------------------------------------------------------------------------------------------


class Cursors(Struct, frozen=True, gc=False):
    """How far a response is, in ms of its own clock."""

    generated_ms: int
    sent_ms: int
    played_ms: int
    committed_ms: int


class Acknowledged(Struct, frozen=True, kw_only=True, tag_field="type", tag="playback.acknowledged"):
    session_id: str
    epoch: int
    turn_id: int
    response_id: str
    item_id: str
    played_ms: int
    committed_ms: int
    truncate: bool
    playback: Cursors
    history_committed: bool


class PlaybackAcknowledged(Frame, frozen=True, kw_only=True, tag="playback.acknowledged"):
    event: Acknowledged


# --- responses --------------------------------------------------------------------------------------------


class OfResponse(Frame, frozen=True, kw_only=True):
    """Base of whatever belongs to a response."""

    response_id: str
    epoch: int
    turn_id: int


class OutputCleared(OfResponse, frozen=True, kw_only=True, tag="output_audio_buffer.cleared"):
    """What was not played of it must not be played."""


class ResponseCreated(OfResponse, frozen=True, kw_only=True, tag="response.created"):
    response: Json


class ResponseDone(OfResponse, frozen=True, kw_only=True, tag="response.done"):
    response: Json


class ResponseListen(Frame, frozen=True, kw_only=True, tag="response.listen"):
    """The model decided not to speak; with a `response_id`, not to go on speaking."""

    session_id: str
    epoch: int
    turn_id: int
    response: Json
    response_id: str | UnsetType = UNSET


class OutputItemAdded(OfResponse, frozen=True, kw_only=True, tag="response.output_item.added"):
    output_index: int
    item: Json


class OutputItemDone(OfResponse, frozen=True, kw_only=True, tag="response.output_item.done"):
    output_index: int
    item: Json


class InPart(OfResponse, frozen=True, kw_only=True):
    """Base of frames about one content part of a response's item."""

    item_id: str
    output_index: int = 0
    content_index: int = 0


class PartAdded(InPart, frozen=True, kw_only=True, tag="response.content_part.added"):
    part: Json


class PartDone(InPart, frozen=True, kw_only=True, tag="response.content_part.done"):
    part: Json


class SpeakMetadata(Struct, frozen=True, kw_only=True, gc=False):
    session_id: str
    epoch: int
    model_speak: bool = True


class Speak(InPart, frozen=True, kw_only=True, tag="response.speak"):
    """The model decided to speak: before the first of its audio."""

    metadata: SpeakMetadata


class TextMark(Struct, frozen=True, gc=False):
    """The first `text_chars` characters of the transcript are spoken by `audio_end_ms`."""

    text_chars: int
    audio_end_ms: int


class AudioMetadata(SpeakMetadata, frozen=True, kw_only=True):
    """`audio_duration_ms` counts from the response's first sample to the end of this delta."""

    end_of_turn: bool
    audio_duration_ms: int
    audio_text_marks: tuple[TextMark, ...]
    playback: Cursors


class AudioDelta(InPart, frozen=True, kw_only=True, tag="response.output_audio.delta"):
    """`delta` is filled in by the attachment: a slice of the event's payload in the format that the client
    asked for; at the end of an answer, what converting to another rate had held back."""

    delta: bytes = b""
    format: str
    sample_rate_hz: int
    metadata: AudioMetadata


class AudioDone(InPart, frozen=True, kw_only=True, tag="response.output_audio.done"):
    pass


class TranscriptDelta(InPart, frozen=True, kw_only=True, tag="response.output_audio_transcript.delta"):
    delta: str


class TranscriptDone(InPart, frozen=True, kw_only=True, tag="response.output_audio_transcript.done"):
    transcript: str


class TextDelta(InPart, frozen=True, kw_only=True, tag="response.output_text.delta"):
    delta: str


class TextDone(InPart, frozen=True, kw_only=True, tag="response.output_text.done"):
    text: str


class OfCall(OfResponse, frozen=True, kw_only=True):
    """Base of frames about a function call's arguments."""

    item_id: str
    output_index: int
    call_id: str


class ArgumentsDelta(OfCall, frozen=True, kw_only=True, tag="response.function_call_arguments.delta"):
    delta: str


class ArgumentsDone(OfCall, frozen=True, kw_only=True, tag="response.function_call_arguments.done"):
    name: str
    arguments: str


class RateLimits(Frame, frozen=True, kw_only=True, tag="rate_limits.updated"):
    """Directly behind every response.done; there are no limits to tell of."""

    rate_limits: tuple[Json, ...] = ()
