"""The server's frames, flat. Where the duplex dialect wraps what happened into an envelope of the public
protocol, here it comes by itself.

Every frame has `type`, `event_id` and, unless it is a reply that no event holds, `server_event_seq`: as in
the duplex dialect, some of whose frames are also these (wording.py says which).
"""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from antiphon.projections.duplex import frames as duplex
from antiphon.projections.duplex.frames import Cursors, Json, TextMark


class Frame(Struct, frozen=True, kw_only=True, tag_field="type", gc=False):
    event_id: str
    server_event_seq: int | UnsetType = UNSET


AnyFrame = Frame | duplex.Frame
"""What a client is sent."""


# --- the session ------------------------------------------------------------------------------------------


class SessionClosed(Frame, frozen=True, kw_only=True, tag="session.closed"):
    """The last frame of a session."""

    session_id: str
    epoch: int
    reason: str


class Error(Frame, frozen=True, kw_only=True, tag="error"):
    """`error` is for people; `client_event_id` the client's own frame that it is about."""

    session_id: str | UnsetType = UNSET
    code: str
    error: str
    param: str | None
    client_event_id: str | None
    retryable: bool


# --- input and items --------------------------------------------------------------------------------------


class InputCommitted(Frame, frozen=True, kw_only=True, tag="input.committed"):
    """Without a `realtime_item_id` nothing came into the conversation."""

    session_id: str
    epoch: int
    turn_id: int
    previous_item_id: str | None
    realtime_item_id: str | UnsetType = UNSET
    native_audio: bool
    by: str
    audio_start_ms: int
    audio_end_ms: int
    is_speech: bool
    empty: bool | UnsetType = UNSET
    no_response: bool | UnsetType = UNSET
    overlap_ack: bool | UnsetType = UNSET
    overlap_deferred: bool | UnsetType = UNSET
    response_create_deferred: bool | UnsetType = UNSET
    final: bool | UnsetType = UNSET


class InputTranscribed(Frame, frozen=True, kw_only=True, tag="input.transcribed"):
    """`error`: the code of why it was not understood."""

    session_id: str
    realtime_item_id: str
    transcript: str
    error: str | UnsetType = UNSET


class InputCancelled(Frame, frozen=True, kw_only=True, tag="input.cancelled"):
    """Uncommitted audio was thrown away, and what was being said was cut off."""

    session_id: str
    epoch: int


class ItemDeleted(Frame, frozen=True, kw_only=True, tag="conversation.item.deleted"):
    session_id: str
    item_id: str


class ItemTruncated(Frame, frozen=True, kw_only=True, tag="conversation.item.truncated"):
    session_id: str
    item_id: str
    content_index: int
    audio_end_ms: int
    truncated: bool


# --- responses --------------------------------------------------------------------------------------------


class OfResponse(Frame, frozen=True, kw_only=True):
    """Base of whatever belongs to a response; `item_id` is its place in the conversation."""

    response_id: str
    epoch: int
    turn_id: int
    item_id: str


class ResponseCreated(OfResponse, frozen=True, kw_only=True, tag="response.created"):
    modalities: list[str]
    conversation: str
    metadata: dict[str, str] | None
    max_output_tokens: int | str


class PlaybackAcknowledged(OfResponse, frozen=True, kw_only=True, tag="playback.acknowledged"):
    """What counts as heard of it."""

    session_id: str
    played_ms: int
    committed_ms: int
    truncate: bool
    playback: Cursors
    history_committed: bool


class Speak(OfResponse, frozen=True, kw_only=True, tag="response.speak"):
    """The model decided to speak: before the first of its words or audio."""

    model_speak: bool = True


class Listen(Frame, frozen=True, kw_only=True, tag="response.listen"):
    """The model decided not to speak; with a `response_id`, not to go on speaking."""

    session_id: str
    epoch: int
    turn_id: int
    response_id: str | UnsetType = UNSET
    reason: str
    model_listen: bool
    buffering: bool


class AudioDelta(OfResponse, frozen=True, kw_only=True, tag="response.output_audio.delta"):
    """`audio` is filled in by the attachment. `audio_duration_ms` counts from the response's first sample to
    the end of this delta."""

    audio: bytes = b""
    text: str = ""
    format: str
    sample_rate_hz: int
    model_speak: bool = True
    end_of_turn: bool
    audio_duration_ms: int
    audio_text_marks: tuple[TextMark, ...]
    playback: Cursors


class WordsDelta(AudioDelta, frozen=True, kw_only=True, tag="response.output_audio.delta"):
    """The words of a piece, before its audio: an audio delta without audio."""


class TextDelta(OfResponse, frozen=True, kw_only=True, tag="response.text.delta"):
    """Of an answer in text only."""

    delta: str


class OutputItemDone(OfResponse, frozen=True, kw_only=True, tag="response.output_item.done"):
    """`text` is all that was generated, `item` what counts: of a cancelled answer, what was heard."""

    text: str
    item: Json


class FunctionCallDone(OfResponse, frozen=True, kw_only=True, tag="function_call.done"):
    """`item_id` is that of the call, an item of its own."""

    call_id: str
    name: str
    arguments: str


class ResponseDone(OfResponse, frozen=True, kw_only=True, tag="response.done"):
    """The end of an answer that was not cut off."""

    status: str
    reason: str | None
    usage: Json
    metadata: dict[str, str] | None
    playback: Cursors
    metrics: Json | UnsetType = UNSET


class AudioCancelled(OfResponse, frozen=True, kw_only=True, tag="audio.cancelled"):
    """The end of an answer that was cut off: in `cancelled_epoch`, and `epoch` is the one that holds now."""

    session_id: str
    reason: str | None
    cancelled_epoch: int
    committed_ms: int
    playback: Cursors
