"""What the duplex dialect shows, in this dialect's words.

The two say the same of a session, so what there is to say is decided once (projections/duplex). Here each of
its frames becomes one of ours, or nothing: the public protocol says many things twice. A frame that is not in
the table is the same in both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from antiphon.actors.session.heard import full_text
from antiphon.events import vocabulary as v
from antiphon.events.envelope import Stored
from antiphon.projections.duplex import frames as d
from antiphon.projections.duplex.frames import Json
from antiphon.projections.duplex.view import Answer

from . import frames as f
from .view import View

Shown = Sequence[tuple[type[f.AnyFrame], Json]]
Word = Callable[[View, Stored, Json], Shown]
"""From the view after the event, the event, and the members of the duplex frame."""


def worded(view: View, stored: Stored, shown: Iterable[tuple[type[d.Frame], Json]]) -> Shown:
    """What one event amounts to."""
    said: list[tuple[type[f.AnyFrame], Json]] = []
    for kind, members in shown:
        word = WORDS.get(kind)
        said += [(kind, members)] if word is None else word(view, stored, members)
    return said


def flat(body: d.ErrorBody) -> Json:
    """An error's members, but for the session that it is about."""
    return {
        "code": body.code,
        "error": body.message,
        "param": body.param,
        "client_event_id": body.event_id,
        "retryable": body.retryable,
    }


# --- the session ------------------------------------------------------------------------------------------


def _updated(view: View, stored: Stored, members: Json) -> Shown:
    """Only of what was changed: what the session opened with, session.created has told."""
    return () if isinstance(stored.event, v.SessionOpened) else [(d.SessionUpdated, members)]


def _closed(view: View, stored: Stored, members: Json) -> Shown:
    told = {"session_id": view.session, "epoch": view.epoch, "reason": members["reason"]}
    return [(f.SessionClosed, told)]


def _error(view: View, stored: Stored, members: Json) -> Shown:
    return [(f.Error, {**flat(members["error"]), "session_id": view.session})]


# --- input and items --------------------------------------------------------------------------------------


def _committed(view: View, stored: Stored, members: Json) -> Shown:
    happened = {key: value for key, value in members["event"].items() if key != "type"}
    return [(f.InputCommitted, {**happened, "previous_item_id": members["previous_item_id"]})]


def _cleared(view: View, stored: Stored, members: Json) -> Shown:
    if view.cancelling:
        return [(f.InputCancelled, {"session_id": view.session, "epoch": view.epoch})]
    return [(d.Cleared, members)]


def _transcribed(view: View, stored: Stored, members: Json) -> Shown:
    item, transcript = members["item_id"], members["transcript"]
    told = {"session_id": view.session, "realtime_item_id": item, "transcript": transcript}
    return [(f.InputTranscribed, told)]


def _not_transcribed(view: View, stored: Stored, members: Json) -> Shown:
    told = {"session_id": view.session, "realtime_item_id": members["item_id"], "transcript": ""}
    return [(f.InputTranscribed, {**told, "error": members["error"]["code"]})]


def _item(view: View, stored: Stored, members: Json) -> Shown:
    """Only what a client put in: whatever else comes into the conversation has a frame of its own."""
    return [(d.ItemCreated, members)] if isinstance(stored.event, v.ItemAdded) else ()


def _deleted(view: View, stored: Stored, members: Json) -> Shown:
    return [(f.ItemDeleted, {"session_id": view.session, "item_id": members["item_id"]})]


def _truncated(view: View, stored: Stored, members: Json) -> Shown:
    told = {key: members[key] for key in ("item_id", "content_index", "audio_end_ms")}
    told |= {"session_id": view.session, "truncated": members["event"]["truncated"]}
    return [(f.ItemTruncated, told)]


def _acknowledged(view: View, stored: Stored, members: Json) -> Shown:
    told: d.Acknowledged = members["event"]
    return [(f.PlaybackAcknowledged, {name: getattr(told, name) for name in told.__struct_fields__})]


# --- responses --------------------------------------------------------------------------------------------


def _answer(view: View, members: Json) -> Answer:
    """The answer that the frame is about: it was shown, so it is known."""
    answer = view.answer(members["response_id"])
    assert answer is not None
    return answer


def _begun(view: View, stored: Stored, members: Json) -> Shown:
    told = {key: members["response"][key] for key in _OPTIONS}
    return [(f.ResponseCreated, {**_answer(view, members).part, **told})]


_OPTIONS = ("modalities", "conversation", "metadata", "max_output_tokens")


def _speaks(view: View, stored: Stored, members: Json) -> Shown:
    return [(f.Speak, _answer(view, members).part)]


def _audio(view: View, stored: Stored, members: Json) -> Shown:
    told: d.AudioMetadata = members["metadata"]
    audio = {
        **{key: value for key, value in members.items() if key != "metadata"},
        "end_of_turn": told.end_of_turn,
        "audio_duration_ms": told.audio_duration_ms,
        "audio_text_marks": told.audio_text_marks,
        "playback": told.playback,
    }
    return [(f.AudioDelta, audio)]


def _words(view: View, stored: Stored, members: Json) -> Shown:
    """Behind each audio delta the duplex dialect has one that says nothing."""
    if not members["delta"]:
        return ()
    answer = _answer(view, members)
    words = {
        **answer.part,
        "text": members["delta"],
        "format": answer.format.encoding,
        "sample_rate_hz": answer.format.rate,
        "end_of_turn": answer.turn_over,
        "audio_duration_ms": answer.cursors.generated_ms,
        "audio_text_marks": (),
        "playback": answer.cursors,
    }
    return [(f.WordsDelta, words)]


def _text(view: View, stored: Stored, members: Json) -> Shown:
    return [(f.TextDelta, members)]


def _listens(view: View, stored: Stored, members: Json) -> Shown:
    decided = members["response"]["metadata"]
    told = {key: value for key, value in members.items() if key != "response"}
    return [(f.Listen, {**told, **{key: decided[key] for key in ("reason", "model_listen", "buffering")}})]


def _item_done(view: View, stored: Stored, members: Json) -> Shown:
    item = members["item"]
    if item["type"] == "function_call":
        return ()
    answer = _answer(view, members)
    return [(f.OutputItemDone, {**answer.part, "text": full_text(answer.played), "item": item})]


def _called(view: View, stored: Stored, members: Json) -> Shown:
    return [(f.FunctionCallDone, {key: value for key, value in members.items() if key != "output_index"})]


def _done(view: View, stored: Stored, members: Json) -> Shown:
    answer, response = _answer(view, members), members["response"]
    reason = (response["status_details"] or {}).get("reason")
    ended = {**answer.part, "reason": reason, "playback": answer.cursors}
    if response["status"] == "cancelled":
        epochs = {"epoch": view.epoch, "cancelled_epoch": members["epoch"]}
        heard = answer.cursors.committed_ms
        return [(f.AudioCancelled, {**ended, **epochs, "session_id": view.session, "committed_ms": heard})]
    told = {key: response[key] for key in ("status", "usage", "metadata", "metrics") if key in response}
    return [(f.ResponseDone, {**ended, **told})]


def _nothing(view: View, stored: Stored, members: Json) -> Shown:
    return ()


WORDS: Mapping[type[d.Frame], Word] = {
    d.SessionUpdated: _updated,
    d.SessionClosed: _closed,
    d.Error: _error,
    d.Committed: _committed,
    d.Cleared: _cleared,
    d.Transcribed: _transcribed,
    d.TranscriptionFailed: _not_transcribed,
    d.ItemAdded: _nothing,
    d.ItemCreated: _item,
    d.ItemDone: _nothing,
    d.ItemDeleted: _deleted,
    d.ItemTruncated: _truncated,
    d.PlaybackAcknowledged: _acknowledged,
    d.ResponseCreated: _begun,
    d.OutputItemAdded: _nothing,
    d.PartAdded: _nothing,
    d.Speak: _speaks,
    d.AudioDelta: _audio,
    d.TranscriptDelta: _words,
    d.TextDelta: _text,
    d.AudioDone: _nothing,
    d.TranscriptDone: _nothing,
    d.TextDone: _nothing,
    d.PartDone: _nothing,
    d.ArgumentsDelta: _nothing,
    d.ArgumentsDone: _called,
    d.OutputItemDone: _item_done,
    d.ResponseListen: _listens,
    d.ResponseDone: _done,
    d.RateLimits: _nothing,
}
