"""What comes of the user's input, and of items: heard, committed, understood, put in and taken out."""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events import vocabulary as v
from antiphon.events.envelope import Stored
from antiphon.events.units import SAMPLE_RATE, samples_to_ms
from antiphon.projections.realtime import items

from . import frames as f
from .view import Shown, View

WAITING = 16
"""Committed items whose length is remembered until their transcript comes."""

CUT_OFF = {"server_vad_speech_started": "turn_detected"}
"""The rule that let the user break in -> the reason that the answer which he cut off ends with."""


def speech_started(view: View, stored: Stored, event: v.SpeechStarted) -> tuple[View, Shown]:
    start = samples_to_ms(event.from_sample)
    view = replace(view, turn_state="user_speaking")
    return view, [(f.SpeechStarted, {"audio_start_ms": start, "item_id": event.item})]


def speech_stopped(view: View, stored: Stored, event: v.SpeechStopped) -> tuple[View, Shown]:
    end = samples_to_ms(event.until_sample)
    return view, [(f.SpeechStopped, {"audio_end_ms": end, "item_id": event.item})]


def overlap_decided(view: View, stored: Stored, event: v.OverlapDecided) -> tuple[View, Shown]:
    overlap, asked = view.config.overlap, view.abilities.hears == "utterances"
    listens = event.action == "listen"
    cut_off = CUT_OFF.get(event.reason, "barge_in") if event.action == "barge_in" else None
    members = {
        "session_id": view.session,
        "epoch": view.epoch,
        "policy": "" if overlap is None else overlap.policy,
        "action": event.action,
        "reason": event.reason,
        "metadata": {
            "duration_ms": event.duration_ms,
            "overlap_speech_ms": event.overlap_ms,
            "audio_end_ms": samples_to_ms(event.until_sample),
            "buffer_audio": listens,
            "defer_runtime_append": listens and asked,
            "force_listen": event.reason in ("client_force_listen", "server_vad_utterance_active"),
            "preserve_realtime_input": event.action != "drop",
            "cancel_reason": cut_off,
        },
    }
    return view, [(f.OverlapDecision, members)]


def committed(view: View, stored: Stored, event: v.InputCommitted) -> tuple[View, Shown]:
    """The item comes before the commit that made it. What was only a short word, or nothing, is no item."""
    members = {
        "previous_item_id": event.previous,
        "item_id": event.item,
        "event": _committed_event(view, event),
    }
    if event.outcome in ("acknowledgement", "silence"):
        return view, [(f.Committed, members)]
    seconds = round((event.until_sample - event.from_sample) / SAMPLE_RATE, 3)
    spoken = items.item(v.Item(id=event.item, role="user", content=(v.Part(kind="input_audio"),)))
    placed = {"previous_item_id": event.previous, "item": spoken}
    waiting = (*view.spoken_s[1 - WAITING :], (event.item, seconds))
    state = "user_committed" if view.speaking is None else view.turn_state
    return replace(view, spoken_s=waiting, turn_state=state), [
        (f.ItemAdded, placed),
        (f.ItemCreated, placed),
        (f.Committed, members),
        (f.ItemDone, placed),
    ]


def _committed_event(view: View, event: v.InputCommitted) -> f.Json:
    raw: f.Json = {
        "type": "input.committed",
        "session_id": view.session,
        "turn_id": view.turn if event.turn is None else event.turn,
        "epoch": view.epoch,
        "native_audio": view.abilities.hears == "continuously",
        "by": event.by,
        "audio_start_ms": samples_to_ms(event.from_sample),
        "audio_end_ms": samples_to_ms(event.until_sample),
    }
    match event.outcome:
        case "acknowledgement":
            return {**raw, "empty": True, "is_speech": False, "overlap_ack": True, "no_response": True}
        case "silence":
            return {**raw, "is_speech": False, "no_response": True}
        case "deferred":
            deferred = {"overlap_deferred": True, "response_create_deferred": True}
            return {**raw, "realtime_item_id": event.item, "is_speech": True, **deferred}
        case outcome:
            return {
                **raw,
                "realtime_item_id": event.item,
                "is_speech": True,
                "no_response": outcome == "kept" and event.by == "client",
                **({} if event.final else {"final": False}),
            }


def transcribed(view: View, stored: Stored, event: v.InputTranscribed) -> tuple[View, Shown]:
    """Whatever was understood is told; that nothing was, only to a client that asked for transcripts."""
    seconds = dict(view.spoken_s).get(event.item, 0.0)
    view = replace(view, spoken_s=tuple(one for one in view.spoken_s if one[0] != event.item))
    where: f.Json = {"item_id": event.item, "content_index": 0}
    if event.error is not None:
        trouble = {"type": "server_error", "code": event.error, "message": "the recogniser failed"}
        shown: Shown = [(f.TranscriptionFailed, {**where, "error": trouble})]
        return view, shown if view.config.transcription else []
    if not event.text and not view.config.transcription:
        return view, []
    usage = {"type": "duration", "seconds": seconds}
    return view, [(f.Transcribed, {**where, "transcript": event.text, "usage": usage})]


def cleared(view: View, stored: Stored, event: v.InputCleared) -> tuple[View, Shown]:
    state = "idle" if view.turn_state in ("user_speaking", "user_committed") else view.turn_state
    return replace(view, turn_state=state), [(f.Cleared, {})]


# --- items ------------------------------------------------------------------------------------------------


def item_added(view: View, stored: Stored, event: v.ItemAdded) -> tuple[View, Shown]:
    placed = {"previous_item_id": event.previous, "item": items.item(event.item)}
    return view, [(f.ItemAdded, placed), (f.ItemCreated, placed), (f.ItemDone, placed)]


def item_removed(view: View, stored: Stored, event: v.ItemRemoved) -> tuple[View, Shown]:
    raw = {"type": "conversation.item.deleted", "session_id": view.session, "item_id": event.item}
    return view, [(f.ItemDeleted, {"item_id": event.item, "event": raw})]
