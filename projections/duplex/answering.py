"""A response, from response.created to response.done.

    response.created, conversation.item.added, conversation.item.created, response.output_item.added,
    response.content_part.added
    [response.speak]                            before the first words or audio of a spoken answer
    ( response.output_audio_transcript.delta
    | response.output_audio.delta, response.output_audio_transcript.delta "" )*
    [response.output_audio.done] [response.output_audio_transcript.done] response.content_part.done
    response.output_item.done, conversation.item.done, response.done, rate_limits.updated

The words of a piece come before its audio, so that nothing waits for what may follow; the delta behind each
audio delta is then empty. All transcript deltas of a response, joined, are its transcript.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from antiphon.actors.session.heard import full_text, heard_text, is_playing
from antiphon.actors.session.playback import move
from antiphon.actors.session.state import Played
from antiphon.events import vocabulary as v
from antiphon.events.envelope import Stored
from antiphon.events.units import SAMPLE_RATE, samples_to_ms
from antiphon.projections.realtime import items
from antiphon.projections.slices import slices
from antiphon.projections.summary import of_response

from . import frames as f
from .errors import failed
from .formats import Format
from .view import Answer, Shown, View, moved


def created(view: View, stored: Stored, event: v.ResponseCreated) -> tuple[View, Shown]:
    played = Played(event.response, event.item, "audio" in event.modalities, view.config.playback)
    own = event.audio_format
    answer = Answer(event, played, view.output if own is None else Format(own.encoding, own.rate))
    state = "assistant_generating"
    view = replace(view, speaking=answer, turn=event.fence.turn, turn_state=state)
    message = items.item(v.Item(id=event.item, role="assistant"), "in_progress")
    placed = {"previous_item_id": event.previous, "item": message}
    return view, [
        (f.ResponseCreated, {**answer.scope, "response": _response(view, answer, "in_progress")}),
        (f.ItemAdded, placed),
        (f.ItemCreated, placed),
        (f.OutputItemAdded, {**answer.scope, "output_index": 0, "item": message}),
        (f.PartAdded, {**answer.part, "part": _part(answer, "")}),
    ]


def text(view: View, stored: Stored, event: v.TextSpoken) -> tuple[View, Shown]:
    answer = view.speaking
    if answer is None or answer.created.response != event.response:
        return view, []
    begun, shown = _begun(view, answer)
    kind = f.TranscriptDelta if answer.played.audible else f.TextDelta
    answer = replace(begun, played=move(begun.played, event))
    delta = kind, {**answer.part, "delta": event.text}
    return replace(view, speaking=answer), [*shown, delta]


def audio(view: View, stored: Stored, event: v.AudioSpoken) -> tuple[View, Shown]:
    answer = view.speaking
    if answer is None or answer.created.response != event.response or not answer.played.audible:
        return view, []
    begun, before = _begun(view, answer)
    marks, marked = _marks(begun)
    shown = [*before]
    start = event.until_sample - event.samples
    for samples in slices(event.samples, answer.format.rate):
        start += samples
        answer = replace(begun, played=replace(begun.played, generated=start), marked=marked)
        shown += _sounded(view, answer, marks)
        marks = ()
    return replace(view, speaking=answer), shown


def _begun(view: View, answer: Answer) -> tuple[Answer, Shown]:
    """The first words or audio of an answer that is to be heard."""
    if answer.voiced or not answer.played.audible:
        return answer, ()
    metadata = f.SpeakMetadata(session_id=view.session, epoch=answer.created.fence.epoch)
    return replace(answer, voiced=True), [(f.Speak, {**answer.part, "metadata": metadata})]


def _marks(answer: Answer) -> tuple[tuple[f.TextMark, ...], int]:
    """Where words end that more words have followed since: only then is it known. And how many are told.

    Words without audio of their own are spoken by that of the next, as heard.py has it.
    """
    marks = answer.played.marks
    if not marks:
        return (), answer.marked
    end = marks[-1].from_sample
    said = sum(len(mark.text) for mark in marks if mark.from_sample < end)
    if said <= answer.marked:
        return (), answer.marked
    return (f.TextMark(said, samples_to_ms(end)),), said


def _sounded(view: View, answer: Answer, marks: tuple[f.TextMark, ...]) -> Shown:
    """An audio delta and the transcript delta that belongs to it."""
    part, cursors = answer.part, answer.cursors
    metadata = f.AudioMetadata(
        session_id=view.session,
        epoch=part["epoch"],
        end_of_turn=answer.turn_over,
        audio_duration_ms=cursors.generated_ms,
        audio_text_marks=marks,
        playback=cursors,
    )
    format_ = answer.format
    delta = {**part, "format": format_.encoding, "sample_rate_hz": format_.rate, "metadata": metadata}
    return [(f.AudioDelta, delta), (f.TranscriptDelta, {**part, "delta": ""})]


def called(view: View, stored: Stored, event: v.ToolCalled) -> tuple[View, Shown]:
    """A function call: an item of its own in the response, whole at once."""
    answer = view.speaking
    if answer is None or answer.created.response != event.response:
        return view, []
    index = 1 + len(answer.calls)
    call = v.Item(id=event.item, kind="function_call", call_id=event.call_id, name=event.name, arguments="")
    begun = items.item(call, "in_progress")
    done = items.item(replace(call, arguments=event.arguments))
    previous = event.previous or answer.created.item
    placed = {"previous_item_id": previous, "item": begun}
    where = {**answer.scope, "item_id": event.item, "output_index": index, "call_id": event.call_id}
    view = replace(view, speaking=replace(answer, calls=(*answer.calls, done)))
    return view, [
        (f.ItemAdded, placed),
        (f.ItemCreated, placed),
        (f.OutputItemAdded, {**answer.scope, "output_index": index, "item": begun}),
        (f.ArgumentsDelta, {**where, "delta": event.arguments}),
        (f.ArgumentsDone, {**where, "name": event.name, "arguments": event.arguments}),
        (f.OutputItemDone, {**answer.scope, "output_index": index, "item": done}),
        (f.ItemDone, {"previous_item_id": previous, "item": done}),
    ]


def listened(view: View, stored: Stored, event: v.ModelListened) -> tuple[View, Shown]:
    """The model decided not to speak, or not to go on; with its answer, which then ends."""
    said: f.Json = {
        "object": "realtime.response",
        "status": "listening",
        "metadata": {
            "reason": event.reason,
            "model_listen": event.reason == "model_listen",
            "buffering": event.reason == "buffering",
            "epoch": view.epoch,
        },
    }
    scope: f.Json = {"session_id": view.session, "epoch": view.epoch, "turn_id": view.turn}
    if event.response is None:
        return view, [(f.ResponseListen, {**scope, "response": said})]
    ends = {"response": {**said, "id": event.response}, "response_id": event.response}
    return view, [(f.ResponseListen, {**scope, **ends})]


def ended(view: View, stored: Stored, event: v.ResponseEnded) -> tuple[View, Shown]:
    view, answer = moved(view, event)
    if answer is None or view.speaking is not answer:
        return view, []
    shown: list[tuple[type[f.Frame], f.Json]] = []
    if event.outcome == "failed" and event.reason not in (None, "session_closed"):
        shown += failed(event.reason, event.message or "the answer failed")
        view = replace(view, troubled=event.session_over)
    shown += _tail(view, answer, event)
    shown += _closing(view, answer, event, stored.at.mono_ns)
    playing = is_playing(answer.played) and event.outcome != "cancelled"
    state = "assistant_playing" if playing else "idle"
    if view.turn_state != "assistant_generating":
        state = view.turn_state
    return replace(view, speaking=None, ended=(*view.ended, answer), turn_state=state), shown


def _tail(view: View, answer: Answer, event: v.ResponseEnded) -> Shown:
    """Converting to another rate holds a few samples back: at the end of an answer they are sent, too."""
    whole = event.outcome in ("completed", "incomplete")
    if not whole or answer.format.rate == SAMPLE_RATE or not answer.played.generated:
        return ()
    return _sounded(view, answer, ())


def _closing(view: View, answer: Answer, event: v.ResponseEnded, mono_ns: int) -> Shown:
    said, part, scope = full_text(answer.played), answer.part, answer.scope
    audible = answer.played.audible
    cut = event.outcome == "cancelled" and audible
    kept = heard_text(answer.played, mono_ns) if cut else said
    message = _message(answer, kept, "completed" if event.outcome == "completed" else "incomplete")
    shown: list[tuple[type[f.Frame], f.Json]] = []
    if not audible:
        shown.append((f.TextDone, {**part, "text": said}))
    elif answer.played.generated or said:
        shown.append((f.AudioDone, part))
    if audible and said:
        shown.append((f.TranscriptDone, {**part, "transcript": said}))
    response = {
        **_response(view, answer, event.outcome),
        "status_details": _details(event),
        "output": [message, *answer.calls],
        "usage": items.usage(event.usage),
        **_metrics(view, answer),
    }
    return [
        *shown,
        (f.PartDone, {**part, "part": _part(answer, said)}),
        (f.OutputItemDone, {**scope, "output_index": 0, "item": message}),
        (f.ItemDone, {"previous_item_id": answer.created.previous, "item": message}),
        (f.ResponseDone, {**scope, "response": response}),
        (f.RateLimits, {}),
    ]


def _metrics(view: View, answer: Answer) -> f.Json:
    """How long the answer took by the stage's clock and by the server's, where the client wants to know."""
    taken = None if view.measures is None else view.measures.of(answer.created.response)
    return {} if taken is None else {"metrics": msgspec.to_builtins(of_response(taken))}


def _details(ended: v.ResponseEnded) -> f.Json | None:
    """Why it ended so. Reasons are the core's own words: whoever asks for this dialect knows them."""
    if ended.outcome == "failed":
        error = {"type": "server_error", "code": ended.reason or "engine_error", "message": ended.message}
        return {"type": "failed", "reason": ended.reason, "error": error}
    if ended.outcome == "completed":
        return None
    return {"type": ended.outcome, "reason": ended.reason}


def _response(view: View, answer: Answer, status: str) -> f.Json:
    event = answer.created
    cap, fence = event.max_output_tokens, event.fence
    return {
        "object": "realtime.response",
        "id": event.response,
        "session_id": view.session,
        "epoch": fence.epoch,
        "turn_id": fence.turn,
        "status": status,
        "status_details": None,
        "output": [],
        "modalities": list(event.modalities),
        "output_modalities": list(event.modalities),
        "max_output_tokens": "inf" if cap is None else cap,
        "conversation": "auto" if event.in_history else "none",
        "metadata": event.metadata,
    }


def _part(answer: Answer, said: str) -> f.Json:
    return {"type": "audio", "transcript": said} if answer.played.audible else {"type": "text", "text": said}


def _message(answer: Answer, said: str, status: str) -> f.Json:
    kind: v.PartKind = "output_audio" if answer.played.audible else "output_text"
    item = v.Item(id=answer.created.item, role="assistant", content=(v.Part(kind=kind, text=said),))
    return items.item(item, status)
