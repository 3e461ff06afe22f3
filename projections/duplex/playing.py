"""What the client has played: acknowledgements, truncation, and what was sent."""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.actors.session.heard import heard_text, is_playing
from antiphon.events import vocabulary as v
from antiphon.events.envelope import Stored

from . import frames as f
from .view import Answer, Shown, View, moved, put


def acknowledged(view: View, stored: Stored, event: v.PlaybackAcknowledged) -> tuple[View, Shown]:
    view, answer = moved(view, event)
    if answer is None:
        return view, []
    view = _at_rest(view, answer)
    return view, [_acknowledgement(view, stored, answer, truncate=False)]


def truncated(view: View, stored: Stored, event: v.ItemTruncated) -> tuple[View, Shown]:
    """A cap that only falls: said as an item event, then as an acknowledgement."""
    view, answer = moved(view, event)
    raw = {
        "type": "conversation.item.truncated",
        "session_id": view.session,
        "item_id": event.item,
        "audio_end_ms": event.audio_end_ms,
        "truncated": True,
    }
    frame = (
        f.ItemTruncated,
        {
            "item_id": event.item,
            "content_index": event.content_index,
            "audio_end_ms": event.audio_end_ms,
            "event": raw,
        },
    )
    if answer is None:
        return view, [frame]
    view = _at_rest(view, answer)
    return view, [frame, _acknowledgement(view, stored, answer, truncate=True)]


def _acknowledgement(
    view: View, stored: Stored, answer: Answer, *, truncate: bool
) -> tuple[type[f.Frame], f.Json]:
    cursors, scope = answer.cursors, answer.scope
    told = f.Acknowledged(
        session_id=view.session,
        epoch=scope["epoch"],
        turn_id=scope["turn_id"],
        response_id=scope["response_id"],
        item_id=answer.created.item,
        played_ms=cursors.played_ms,
        committed_ms=cursors.committed_ms,
        truncate=truncate,
        playback=cursors,
        history_committed=answer.created.in_history and bool(heard_text(answer.played, stored.at.mono_ns)),
    )
    return f.PlaybackAcknowledged, {"event": told}


def estimated(view: View, stored: Stored, event: v.PlaybackEstimated) -> tuple[View, Shown]:
    view, answer = moved(view, event)
    return (view if answer is None else _at_rest(view, answer)), []


def sent(view: View, stored: Stored, event: v.FramesSent) -> tuple[View, Shown]:
    for one in event.audio:
        view, _ = moved(view, one)
    return view, []


def _at_rest(view: View, answer: Answer) -> View:
    """Nobody speaks once what was said has been heard."""
    if view.turn_state == "assistant_playing" and view.latest == answer and not is_playing(answer.played):
        return replace(view, turn_state="idle")
    return view


def epoch_advanced(view: View, stored: Stored, event: v.EpochAdvanced) -> tuple[View, Shown]:
    """Nothing of the old epoch is shown from here on, but the end of its answer."""
    view = replace(view, epoch=event.next.epoch, turn=event.next.turn)
    for answer in view.last_two:
        if answer.played.generated or not answer.played.ended:  # else nothing of it was still to be heard
            view = put(view, replace(answer, played=replace(answer.played, interrupted=True)))
    speaks = view.turn_state in ("assistant_playing", "assistant_generating")
    return (replace(view, turn_state="idle") if speaks else view), []


def output_cleared(view: View, stored: Stored, event: v.OutputCleared) -> tuple[View, Shown]:
    """What the client has not played of an answer it must not play."""
    view, answer = moved(view, event)
    if answer is None:
        return view, []
    return _at_rest(view, answer), [(f.OutputCleared, answer.scope)]
