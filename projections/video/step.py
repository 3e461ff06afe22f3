"""step(view, stored): the frames an event amounts to for a client of streaming video.

    an image with an id         ack
    a question                  response.start, text deltas, text.done, audio deltas, audio.done
    its first output            video.frames.consumed before it, if any image that is kept has an id
    no streaming                text.done with all of it, then one audio delta, then audio.done

Every answer has one text.done, and one audio.done where it had audio: also one that is cut off or fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from antiphon.actors.modes.video.stream import Kept, keep
from antiphon.events import vocabulary as v
from antiphon.events.envelope import Stored

from . import frames as f
from .view import Answer, View

Frames = list[f.Frame]

STATUS: dict[str, f.Status] = {
    "completed": "completed",
    "incomplete": "incomplete",
    "cancelled": "interrupted",
    "failed": "failed",
}


def step(view: View, stored: Stored) -> tuple[View, Frames]:
    """The view after the event, and its frames in order."""
    show = SHOWS.get(type(stored.event))
    return (view, []) if show is None else show(view, stored, stored.event)


# --- the session ------------------------------------------------------------------------------------------


def _opened(view: View, stored: Stored, event: v.SessionOpened) -> tuple[View, Frames]:
    return replace(view, config=event.config), []


def _refused(view: View, stored: Stored, event: v.CommandRefused) -> tuple[View, Frames]:
    named = event.client_event or UNSET
    return view, [f.Error(message=event.message, code=event.code, fatal=False, frame_id=named)]


def _failed(view: View, stored: Stored, event: v.SessionFailed) -> tuple[View, Frames]:
    return view, [f.Error(message=f"Internal error: {event.message}", code=event.code, fatal=True)]


def _expired(view: View, stored: Stored, event: v.SessionExpired) -> tuple[View, Frames]:
    told = "Idle timeout" if event.reason == "idle" else f"Session expired: {event.reason}"
    return view, [f.Error(message=told, code="session_expired", fatal=True)]


def _finished(view: View, stored: Stored, event: v.VideoFinished) -> tuple[View, Frames]:
    return replace(view, finished=True), []


def _closed(view: View, stored: Stored, event: v.SessionClosed) -> tuple[View, Frames]:
    done = view.finished and event.reason == "client"
    return view, [f.SessionDone()] if done else []


# --- images -----------------------------------------------------------------------------------------------


def _kept(view: View, stored: Stored, event: v.VideoFrameReceived) -> tuple[View, Frames]:
    dropped = next((one for one in reversed(view.kept) if one.seq in event.evicted), None)
    view = replace(view, kept=keep(view.kept, event, stored.seq, stored.at.mono_ns))
    ack = _ack(view, stored, event.labels)
    if ack and dropped is not None:
        ack = [replace(ack[0], dropped_frame_id=dropped.labels.frame_id or UNSET)]
    return view, [*ack]


def _filtered(view: View, stored: Stored, event: v.VideoFrameFiltered) -> tuple[View, Frames]:
    return view, [replace(one, accepted=False, reason="filtered") for one in _ack(view, stored, event.labels)]


def _unreadable(view: View, stored: Stored, event: v.VideoFrameUnreadable) -> tuple[View, Frames]:
    """It came, and it is of no use."""
    named = event.labels.frame_id or UNSET
    failed = f.Error(message="Frame decode failed", code="frame_decode_failed", fatal=False, frame_id=named)
    return view, [*_ack(view, stored, event.labels), failed]


def _ack(view: View, stored: Stored, labels: v.Labels) -> list[f.FrameAck]:
    """Only of an image that has an id."""
    if not labels.frame_id:
        return []
    ack = f.FrameAck(
        frame_id=labels.frame_id,
        pts_ms=labels.pts_ms,
        capture_ts_ms=labels.capture_ts_ms,
        accepted=True,
        buffered_frames=len(view.kept),
        server_receive_ts_ms=_ms(stored),
    )
    return [ack]


def _ms(stored: Stored) -> int:
    return stored.at.mono_ns // 1_000_000


# --- answers ----------------------------------------------------------------------------------------------


def _queried(view: View, stored: Stored, event: v.VideoQueried) -> tuple[View, Frames]:
    consumed = _consumed(view, stored, event) if any(one.labels.frame_id for one in view.kept) else None
    return replace(view, asked=(event.streams, consumed)), []


def _consumed(view: View, stored: Stored, event: v.VideoQueried) -> f.FramesConsumed:
    chosen = [one for one in view.kept if one.seq in event.frames]
    return f.FramesConsumed(
        request_id="",
        model_selected_ts_ms=_ms(stored),
        frame_ids=tuple(one.labels.frame_id for one in chosen if one.labels.frame_id),
        frames=tuple(_shown(one, _ms(stored)) for one in chosen),
        latest_pts_ms=chosen[-1].labels.pts_ms if chosen else None,
    )


def _shown(one: Kept, ready_ms: int) -> f.ConsumedFrame:
    return f.ConsumedFrame(
        frame_id=one.labels.frame_id,
        pts_ms=one.labels.pts_ms,
        source_pts_ms=one.labels.source_pts_ms,
        quality_profile=one.labels.quality_profile,
        receiver_received_ts_ms=one.received_ms,
        decoded_ready_ts_ms=ready_ms,
    )


def _created(view: View, stored: Stored, event: v.ResponseCreated) -> tuple[View, Frames]:
    streams, consumed = view.asked
    answer = Answer(event.response, streams)
    if consumed is not None:
        answer = replace(answer, consumed=replace(consumed, request_id=answer.name))
    return replace(view, answer=answer, asked=(True, None)), [f.ResponseStart(response_id=answer.name)]


def _text(view: View, stored: Stored, event: v.TextSpoken) -> tuple[View, Frames]:
    answer, first = _first_output(view)
    if answer is None:
        return view, []
    view = replace(view, answer=replace(answer, text=answer.text + event.text))
    told = [f.TextDelta(response_id=answer.name, delta=event.text)] if answer.streams else []
    return view, [*first, *told]


def _audio(view: View, stored: Stored, event: v.AudioSpoken) -> tuple[View, Frames]:
    """Where nothing streams the audio waits for the end, too."""
    answer, first = _first_output(view)
    if answer is None:
        return view, []
    if not answer.streams:
        return replace(view, answer=replace(answer, audio=True)), first
    done = [] if answer.text_done else [f.TextDone(response_id=answer.name, text=answer.text)]
    view = replace(view, answer=replace(answer, audio=True, text_done=True))
    return view, [*first, *done, f.AudioDelta(response_id=answer.name)]


def _first_output(view: View) -> tuple[Answer | None, Frames]:
    answer = view.answer
    if answer is None or answer.consumed is None:
        return answer, []
    return replace(answer, consumed=None), [answer.consumed]


def _ended(view: View, stored: Stored, event: v.ResponseEnded) -> tuple[View, Frames]:
    answer = view.answer
    if answer is None:
        return view, []
    status, name, frames = STATUS[event.outcome], answer.name, Frames()
    if event.outcome == "failed":
        frames.append(_query_failed(name, event))
    if not answer.text_done:
        frames.append(f.TextDone(response_id=name, text=answer.text, status=status))
    whole = status in ("completed", "incomplete")
    if answer.audio and not answer.streams and whole:
        frames.append(f.AudioDelta(response_id=name))
    if answer.audio and (answer.streams or whole):
        frames.append(f.AudioDone(response_id=name, status=status))
    return replace(view, answer=None), frames


def _query_failed(name: str, event: v.ResponseEnded) -> f.Error:
    return f.Error(
        message="Query processing failed",
        code=event.reason or "engine_error",
        fatal=False,
        response_id=name,
        detail=event.message or UNSET,
    )


Show = Callable[[View, Stored, Any], tuple[View, Frames]]  # each takes the event of its key

SHOWS: dict[type[v.Event], Show] = {
    v.SessionOpened: _opened,
    v.CommandRefused: _refused,
    v.SessionFailed: _failed,
    v.SessionExpired: _expired,
    v.SessionClosed: _closed,
    v.VideoFinished: _finished,
    v.VideoFrameReceived: _kept,
    v.VideoFrameFiltered: _filtered,
    v.VideoFrameUnreadable: _unreadable,
    v.VideoQueried: _queried,
    v.ResponseCreated: _created,
    v.TextSpoken: _text,
    v.AudioSpoken: _audio,
    v.ResponseEnded: _ended,
}
