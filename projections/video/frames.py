"""The server's frames. `response_id` names the answer that a frame is of.

Times are in milliseconds on the server's monotonic clock. What a client said of an image is shown back as it
came.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

Status = Literal["completed", "incomplete", "interrupted", "failed"]


class Frame(Struct, frozen=True, kw_only=True, tag_field="type", gc=False):
    """Base of all of them."""


class FrameAck(Frame, frozen=True, kw_only=True, tag="video.frame.ack"):
    """An image that has an id was kept, or (`reason` "filtered") shows nothing new.

    `dropped_frame_id` had to go for it.
    """

    frame_id: str
    pts_ms: Any
    capture_ts_ms: Any
    accepted: bool
    buffered_frames: int
    server_receive_ts_ms: int
    reason: str | UnsetType = UNSET
    dropped_frame_id: str | UnsetType = UNSET


class ConsumedFrame(Struct, frozen=True, kw_only=True):
    frame_id: str | None
    pts_ms: Any
    source_pts_ms: Any
    quality_profile: Any
    receiver_received_ts_ms: int
    decoded_ready_ts_ms: int


class FramesConsumed(Frame, frozen=True, kw_only=True, tag="video.frames.consumed"):
    """Which images the model was shown with a question. `request_id` is the answer's `response_id`."""

    request_id: str
    model_selected_ts_ms: int
    frame_ids: tuple[str, ...]
    frames: tuple[ConsumedFrame, ...]
    latest_pts_ms: Any


class OfResponse(Frame, frozen=True, kw_only=True):
    response_id: str


class ResponseStart(OfResponse, frozen=True, kw_only=True, tag="response.start"):
    """An answer begins."""


class TextDelta(OfResponse, frozen=True, kw_only=True, tag="response.text.delta"):
    delta: str


class TextDone(OfResponse, frozen=True, kw_only=True, tag="response.text.done"):
    """The words so far: comes once, at the first audio or at the end. `status` where it is the end."""

    text: str
    status: Status | UnsetType = UNSET


class AudioDelta(OfResponse, frozen=True, kw_only=True, tag="response.output_audio.delta"):
    """A WAV file of 24 kHz mono, which the attachment puts into `data`."""

    data: bytes = b""
    format: Literal["wav"] = "wav"


class AudioDone(OfResponse, frozen=True, kw_only=True, tag="response.output_audio.done"):
    """The end of an answer that had audio."""

    status: Status


class SessionDone(Frame, frozen=True, kw_only=True, tag="session.done"):
    """The last frame of a session that its client has finished."""


class Error(Frame, frozen=True, kw_only=True, tag="error"):
    """`fatal`: the connection ends. `detail` is what is known of the cause."""

    message: str
    code: str
    fatal: bool
    frame_id: str | UnsetType = UNSET
    response_id: str | UnsetType = UNSET
    detail: str | UnsetType = UNSET


class Pong(Frame, frozen=True, kw_only=True, tag="pong"):
    """The answer to a ping."""
