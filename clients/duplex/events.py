"""What a server says, as a client reads it.

Every frame is an Event: its `type`, when it came (`at`, seconds of time.monotonic()), and `raw`, the whole of
it. Frames of a known kind have classes of their own, with what is mostly wanted as attributes; a frame of
another kind, or one that is not as its class wants it, is a plain Event and loses nothing.

Beside the server's there are the client's own:

    connection.lost         the connection is gone and is being had back; raw has `code` and `reason`
    connection.resumed      it is back, after `attempt` attempts; what was missed follows
    client.commands_lost    commands that the client has forgotten may not have arrived; raw has `after` and
                            `before`, the last that did and the first that was sent again
    client.events_dropped   whoever reads was so slow that `count` events are gone
    client.answers_dropped  nobody took an answer (`responses()`), and its audio was let go
    client.unreadable       a frame that is no JSON object; raw has the `text`
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

Json = dict[str, Any]


class Event(Struct, frozen=True, kw_only=True):
    type: str
    event_id: str | None = None
    server_event_seq: int | None = None
    """Grows, not by one; None on what the session's log does not hold."""
    raw: Json = {}
    at: float = 0.0


# --- the session ------------------------------------------------------------------------------------------


class SessionEvent(Event, frozen=True, kw_only=True):
    """Base of what shows the whole session."""

    session: Json


class SessionCreated(SessionEvent, frozen=True, kw_only=True):
    resume_token: str | None = None
    attachment_generation: int | None = None
    incarnation: int | None = None


class SessionUpdated(SessionEvent, frozen=True, kw_only=True):
    config_generation: int | None = None


class SessionResumed(SessionEvent, frozen=True, kw_only=True):
    session_id: str
    resume_token: str
    attachment_generation: int | None = None
    incarnation: int | None = None
    as_of_server_event_seq: int | None = None
    last_accepted_client_event_id: str | None = None


class SessionReplaced(Event, frozen=True, kw_only=True):
    session_id: str | None = None
    attachment_generation: int | None = None


class SessionEnded(Event, frozen=True, kw_only=True):
    """session.closed or session.expired: the last of a session."""

    reason: str
    session_id: str | None = None


class ResyncRequired(Event, frozen=True, kw_only=True):
    """What was missed is deleted: the session cannot be resumed any more."""

    reason: str
    session_id: str | None = None


class HeartbeatAck(Event, frozen=True, kw_only=True):
    session_id: str | None = None


class TurnEvent(Event, frozen=True, kw_only=True):
    event: str
    turn_state: str
    epoch: int | None = None
    turn_id: int | None = None
    model_turn_id: int | None = None


class OverlapDecision(Event, frozen=True, kw_only=True):
    """What becomes of audio that came over an answer."""

    action: str
    reason: str
    policy: str | None = None
    epoch: int | None = None
    metadata: Json = {}


class ErrorBody(Struct, frozen=True, kw_only=True):
    code: str
    message: str
    type: str | None = None
    param: str | None = None
    event_id: str | None = None
    retryable: bool = False


class ErrorEvent(Event, frozen=True, kw_only=True):
    error: ErrorBody


class ConnectionResumed(Event, frozen=True, kw_only=True):
    """The client's own: it is attached again. `resent` commands had not arrived and were sent once more."""

    attempt: int
    resent: int = 0


# --- input and items --------------------------------------------------------------------------------------


class SpeechStarted(Event, frozen=True, kw_only=True):
    audio_start_ms: int
    item_id: str


class SpeechStopped(Event, frozen=True, kw_only=True):
    audio_end_ms: int
    item_id: str


class Committed(Event, frozen=True, kw_only=True):
    """`event` says what became of it: `no_response`, `is_speech`, `overlap_ack`, `overlap_deferred`, ..."""

    item_id: str
    previous_item_id: str | None = None
    event: Json = {}


class InputCleared(Event, frozen=True, kw_only=True):
    pass


class ItemEvent(Event, frozen=True, kw_only=True):
    """An item of the conversation: added, done, retrieved. (`created` says what `added` says.)"""

    item: Json
    previous_item_id: str | None = None


class ItemDeleted(Event, frozen=True, kw_only=True):
    item_id: str


class ItemTruncated(Event, frozen=True, kw_only=True):
    item_id: str
    audio_end_ms: int
    content_index: int = 0


class Transcribed(Event, frozen=True, kw_only=True):
    """What the user was understood to say."""

    item_id: str
    transcript: str
    content_index: int = 0


class TranscriptionFailed(Event, frozen=True, kw_only=True):
    item_id: str
    error: Json
    content_index: int = 0


class Playback(Struct, frozen=True, kw_only=True):
    """How far an answer is, in ms of its own clock."""

    generated_ms: int = 0
    sent_ms: int = 0
    played_ms: int = 0
    committed_ms: int = 0


class Acknowledged(Struct, frozen=True, kw_only=True):
    item_id: str
    played_ms: int
    committed_ms: int
    response_id: str | None = None
    history_committed: bool = False
    playback: Playback = Playback()


class PlaybackAcknowledged(Event, frozen=True, kw_only=True):
    event: Acknowledged


# --- responses --------------------------------------------------------------------------------------------


class ResponseEvent(Event, frozen=True, kw_only=True):
    """Base of whatever belongs to a response. After a cancel the epoch is higher."""

    response_id: str
    epoch: int | None = None
    turn_id: int | None = None


class OutputCleared(ResponseEvent, frozen=True, kw_only=True):
    """What was not played of it must not be played."""


class ResponseCreated(ResponseEvent, frozen=True, kw_only=True):
    response: Json


class ResponseDone(ResponseEvent, frozen=True, kw_only=True):
    response: Json

    @property
    def status(self) -> str:
        """completed, cancelled, incomplete or failed."""
        return str(self.response.get("status"))


class ResponseListen(Event, frozen=True, kw_only=True):
    """The model decided not to speak; with a `response_id`, not to go on."""

    response: Json = {}
    response_id: str | None = None
    epoch: int | None = None
    turn_id: int | None = None

    @property
    def reason(self) -> str | None:
        reason = self.response.get("metadata", {}).get("reason")
        return reason if isinstance(reason, str) else None


class OutputItem(ResponseEvent, frozen=True, kw_only=True):
    item: Json
    output_index: int = 0


class InPart(ResponseEvent, frozen=True, kw_only=True):
    item_id: str
    output_index: int = 0
    content_index: int = 0


class Part(InPart, frozen=True, kw_only=True):
    part: Json


class Speak(InPart, frozen=True, kw_only=True):
    """The model decided to speak."""


class TextMark(Struct, frozen=True, kw_only=True):
    text_chars: int
    audio_end_ms: int


class AudioMetadata(Struct, frozen=True, kw_only=True):
    audio_duration_ms: int | None = None
    """From the answer's first sample to the end of this delta."""
    audio_text_marks: tuple[TextMark, ...] = ()
    end_of_turn: bool = False
    playback: Playback = Playback()


class AudioDelta(InPart, frozen=True, kw_only=True):
    """`delta` is the audio itself, in `format` at `sample_rate_hz`."""

    delta: bytes
    format: str = "pcm16"
    sample_rate_hz: int | None = None
    metadata: AudioMetadata = AudioMetadata()


class AudioDone(InPart, frozen=True, kw_only=True):
    pass


class TextDelta(InPart, frozen=True, kw_only=True):
    """Words: of what is spoken, or of an answer in text."""

    delta: str


class TranscriptDone(InPart, frozen=True, kw_only=True):
    transcript: str


class TextDone(InPart, frozen=True, kw_only=True):
    text: str


class ArgumentsDelta(ResponseEvent, frozen=True, kw_only=True):
    item_id: str
    call_id: str
    delta: str


class FunctionCall(ResponseEvent, frozen=True, kw_only=True):
    """The model wants a function called. Its output goes back as an item, `function_call_output`."""

    item_id: str
    call_id: str
    name: str
    arguments: str


KINDS: dict[str, type[Event]] = {
    "session.created": SessionCreated,
    "session.updated": SessionUpdated,
    "session.resumed": SessionResumed,
    "session.replaced": SessionReplaced,
    "session.closed": SessionEnded,
    "session.expired": SessionEnded,
    "session.resync_required": ResyncRequired,
    "session.heartbeat_ack": HeartbeatAck,
    "turn.event": TurnEvent,
    "overlap.decision": OverlapDecision,
    "error": ErrorEvent,
    "connection.resumed": ConnectionResumed,
    "input_audio_buffer.speech_started": SpeechStarted,
    "input_audio_buffer.speech_stopped": SpeechStopped,
    "input_audio_buffer.committed": Committed,
    "input_audio_buffer.cleared": InputCleared,
    "conversation.item.added": ItemEvent,
    "conversation.item.created": ItemEvent,
    "conversation.item.done": ItemEvent,
    "conversation.item.retrieved": ItemEvent,
    "conversation.item.deleted": ItemDeleted,
    "conversation.item.truncated": ItemTruncated,
    "conversation.item.input_audio_transcription.completed": Transcribed,
    "conversation.item.input_audio_transcription.failed": TranscriptionFailed,
    "playback.acknowledged": PlaybackAcknowledged,
    "output_audio_buffer.cleared": OutputCleared,
    "response.created": ResponseCreated,
    "response.done": ResponseDone,
    "response.listen": ResponseListen,
    "response.output_item.added": OutputItem,
    "response.output_item.done": OutputItem,
    "response.content_part.added": Part,
    "response.content_part.done": Part,
    "response.speak": Speak,
    "response.output_audio.delta": AudioDelta,
    "response.output_audio.done": AudioDone,
    "response.output_audio_transcript.delta": TextDelta,
    "response.output_audio_transcript.done": TranscriptDone,
    "response.output_text.delta": TextDelta,
    "response.output_text.done": TextDone,
    "response.function_call_arguments.delta": ArgumentsDelta,
    "response.function_call_arguments.done": FunctionCall,
}
RAW = frozenset({"rate_limits.updated"})
"""Kinds of which nothing is wanted but that they came."""
