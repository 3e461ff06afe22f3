"""step(view, stored): the frames an event amounts to for a plain Realtime client.

Order is part of the protocol: an item is announced before any delta of it; everything of a response lies
between its `response.created` and its `response.done`; a cancelled response still closes its part and item.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from antiphon.actors.session.heard import full_text, heard_text
from antiphon.actors.session.playback import move
from antiphon.actors.session.state import Played
from antiphon.events import vocabulary as v
from antiphon.events.envelope import Stored
from antiphon.events.ids import ItemId, SessionId
from antiphon.events.units import SAMPLE_RATE, samples_to_ms
from antiphon.projections.base import expires_at, frame_number
from antiphon.projections.duplex.formats import Format
from antiphon.projections.slices import slices

from . import frames as f
from . import items
from .errors import error
from .formats import PCM, format_of
from .session import session_object

Json = f.Json
Frames = list[f.Frame]
AboutResponse = (
    v.TextSpoken
    | v.AudioSpoken
    | v.AudioSent
    | v.PlaybackAcknowledged
    | v.PlaybackEstimated
    | v.ItemTruncated
    | v.ResponseEnded
)


EXPIRED = {
    "idle_ttl_expired": "nothing has happened in this session for too long",
    "disconnect_grace_expired": "nobody has been connected to this session for too long",
    "max_session_expired": "this session has reached its longest duration",
}


class Speaking(Struct, frozen=True):
    """The response being shown."""

    created: v.ResponseCreated
    played: Played
    format: Format = PCM
    """Of its audio, to its end."""
    calls: tuple[Json, ...] = ()
    """Function calls of the response, as items."""

    @property
    def audio(self) -> bool:
        return self.played.audible


class View(Struct, frozen=True):
    """What the dialect must remember of the events so far."""

    attachment: int
    session: SessionId = SessionId("")
    config: v.Config = v.Config()
    expires_at: int | None = None
    speaking: Speaking | None = None
    spoken_s: tuple[tuple[ItemId, float], ...] = ()
    """Committed items that wait for their transcript, with their length in seconds."""


def event_id(stored: Stored, k: int) -> str:
    return f"event_{frame_number(stored.seq, k)}"


def step(view: View, stored: Stored) -> tuple[View, Frames]:
    """The view after the event, and its frames in order."""
    show = SHOWS.get(type(stored.event))
    return (view, []) if show is None else show(view, stored, stored.event)


# --- session ----------------------------------------------------------------------------------------------


def _opened(view: View, stored: Stored, event: v.SessionOpened) -> tuple[View, Frames]:
    until = expires_at(stored, event.terms)
    view = replace(view, session=event.session, config=event.config, expires_at=until)
    shown = session_object(event.session, event.config, until)
    if view.attachment:
        shown |= {"attachment_generation": view.attachment, "resume_token": ""}
    return view, [f.SessionCreated(event_id=event_id(stored, 0), session=shown)]


def _configured(view: View, stored: Stored, event: v.SessionConfigured) -> tuple[View, Frames]:
    shown = session_object(view.session, event.config, view.expires_at)
    frame = f.SessionUpdated(event_id=event_id(stored, 0), session=shown)
    return replace(view, config=event.config), [frame]


def _refused(view: View, stored: Stored, event: v.CommandRefused) -> tuple[View, Frames]:
    if event.attachment > view.attachment:
        return view, []
    shown = error(
        event_id(stored, 0),
        event.code,
        event.message,
        param=event.parameter,
        client_event=event.client_event,
    )
    return view, [shown]


def _troubled(view: View, stored: Stored, event: v.SessionFailed | v.ConfigRefused) -> tuple[View, Frames]:
    return view, [error(event_id(stored, 0), event.code, event.message)]


def _expired(view: View, stored: Stored, event: v.SessionExpired) -> tuple[View, Frames]:
    return view, [error(event_id(stored, 0), "session_expired", EXPIRED.get(event.reason, event.reason))]


# --- input ------------------------------------------------------------------------------------------------


def _speech_started(view: View, stored: Stored, event: v.SpeechStarted) -> tuple[View, Frames]:
    start = samples_to_ms(event.from_sample)
    return view, [f.SpeechStarted(event_id=event_id(stored, 0), audio_start_ms=start, item_id=event.item)]


def _speech_stopped(view: View, stored: Stored, event: v.SpeechStopped) -> tuple[View, Frames]:
    end = samples_to_ms(event.until_sample)
    return view, [f.SpeechStopped(event_id=event_id(stored, 0), audio_end_ms=end, item_id=event.item)]


def _committed(view: View, stored: Stored, event: v.InputCommitted) -> tuple[View, Frames]:
    seconds = round((event.until_sample - event.from_sample) / SAMPLE_RATE, 3)
    spoken = v.Item(id=event.item, role="user", content=(v.Part(kind="input_audio"),))
    shown, previous = items.item(spoken), event.previous
    return replace(view, spoken_s=(*view.spoken_s[-15:], (event.item, seconds))), [
        f.Committed(event_id=event_id(stored, 0), previous_item_id=previous, item_id=event.item),
        f.ItemAdded(event_id=event_id(stored, 1), previous_item_id=previous, item=shown),
        f.ItemDone(event_id=event_id(stored, 2), previous_item_id=previous, item=shown),
    ]


def _transcribed(view: View, stored: Stored, event: v.InputTranscribed) -> tuple[View, Frames]:
    seconds = dict(view.spoken_s).get(event.item, 0.0)
    view = replace(view, spoken_s=tuple(one for one in view.spoken_s if one[0] != event.item))
    if not view.config.transcription:
        return view, []
    if event.error is not None:
        told = {"type": "server_error", "code": event.error, "message": "the recogniser failed"}
        failed = f.TranscriptionFailed(
            event_id=event_id(stored, 0), item_id=event.item, content_index=0, error=told
        )
        return view, [failed]
    frame = f.Transcribed(
        event_id=event_id(stored, 0),
        item_id=event.item,
        content_index=0,
        transcript=event.text,
        usage=f.DurationUsage(seconds=seconds),
    )
    return view, [frame]


def _cleared(view: View, stored: Stored, event: v.InputCleared) -> tuple[View, Frames]:
    return view, [f.Cleared(event_id=event_id(stored, 0))]


# --- history ----------------------------------------------------------------------------------------------


def _item_added(view: View, stored: Stored, event: v.ItemAdded) -> tuple[View, Frames]:
    shown, previous = items.item(event.item), event.previous
    return view, [
        f.ItemAdded(event_id=event_id(stored, 0), previous_item_id=previous, item=shown),
        f.ItemDone(event_id=event_id(stored, 1), previous_item_id=previous, item=shown),
    ]


def _item_removed(view: View, stored: Stored, event: v.ItemRemoved) -> tuple[View, Frames]:
    return view, [f.ItemDeleted(event_id=event_id(stored, 0), item_id=event.item)]


def _item_truncated(view: View, stored: Stored, event: v.ItemTruncated) -> tuple[View, Frames]:
    frame = f.ItemTruncated(
        event_id=event_id(stored, 0),
        item_id=event.item,
        content_index=event.content_index,
        audio_end_ms=event.audio_end_ms,
    )
    return _moved(view, event)[0], [frame]


# --- response ---------------------------------------------------------------------------------------------


def _created(view: View, stored: Stored, event: v.ResponseCreated) -> tuple[View, Frames]:
    played = Played(event.response, event.item, audible="audio" in event.modalities)
    speaking = Speaking(event, played, format_of(view.config, "output"))
    view = replace(view, speaking=speaking)
    answer = items.item(v.Item(id=event.item, role="assistant"), "in_progress")
    where: Json = {"response_id": event.response, "item_id": event.item}
    return view, [
        f.ResponseCreated(event_id=event_id(stored, 0), response=_response(speaking, "in_progress")),
        f.OutputItemAdded(
            event_id=event_id(stored, 1), response_id=event.response, output_index=0, item=answer
        ),
        f.ItemAdded(event_id=event_id(stored, 2), previous_item_id=event.previous, item=answer),
        f.PartAdded(event_id=event_id(stored, 3), part=_part(speaking, ""), **where),
    ]


def _text(view: View, stored: Stored, event: v.TextSpoken) -> tuple[View, Frames]:
    view, speaking = _moved(view, event)
    if speaking is None:
        return view, []
    kind = f.TranscriptDelta if speaking.audio else f.TextDelta
    return view, [
        kind(
            event_id=event_id(stored, 0),
            response_id=event.response,
            item_id=speaking.played.item,
            delta=event.text,
        )
    ]


def _audio(view: View, stored: Stored, event: v.AudioSpoken) -> tuple[View, Frames]:
    view, speaking = _moved(view, event)
    if speaking is None or not speaking.audio:
        return view, []
    members = _sounding(speaking)
    return view, [
        f.AudioDelta(event_id=event_id(stored, k), **members) for k in range(len(slices(event.samples)))
    ]


def _sounding(speaking: Speaking) -> Json:
    """The members of an audio delta."""
    form = UNSET if speaking.format == PCM else speaking.format
    return {"response_id": speaking.created.response, "item_id": speaking.played.item, "form": form}


def _called(view: View, stored: Stored, event: v.ToolCalled) -> tuple[View, Frames]:
    """A function call: an item of its own in the response, whole at once."""
    speaking = view.speaking
    if speaking is None or speaking.created.response != event.response:
        return view, []
    index = 1 + len(speaking.calls)
    call = v.Item(id=event.item, kind="function_call", call_id=event.call_id, name=event.name, arguments="")
    begun = items.item(call, "in_progress")
    done = items.item(replace(call, arguments=event.arguments))
    where: Json = {"response_id": event.response, "output_index": index}
    of_call: Json = {**where, "item_id": event.item, "call_id": event.call_id}
    view = replace(view, speaking=replace(speaking, calls=(*speaking.calls, done)))
    return view, [
        f.OutputItemAdded(event_id=event_id(stored, 0), **where, item=begun),
        f.ItemAdded(event_id=event_id(stored, 1), previous_item_id=event.previous, item=begun),
        f.ArgumentsDelta(event_id=event_id(stored, 2), **of_call, delta=event.arguments),
        f.ArgumentsDone(event_id=event_id(stored, 3), **of_call, name=event.name, arguments=event.arguments),
        f.OutputItemDone(event_id=event_id(stored, 4), **where, item=done),
        f.ItemDone(event_id=event_id(stored, 5), previous_item_id=event.previous, item=done),
    ]


def _played(view: View, stored: Stored, event: AboutResponse) -> tuple[View, Frames]:
    """How much was heard shows in the item of an answer that is cut off."""
    return _moved(view, event)[0], []


def _sent(view: View, stored: Stored, event: v.FramesSent) -> tuple[View, Frames]:
    for sent in event.audio:
        view, _ = _moved(view, sent)
    return view, []


def _interrupted(view: View, stored: Stored, event: v.EpochAdvanced) -> tuple[View, Frames]:
    speaking = view.speaking
    if speaking is None:
        return view, []
    return replace(view, speaking=replace(speaking, played=replace(speaking.played, interrupted=True))), []


def _moved(view: View, event: AboutResponse) -> tuple[View, Speaking | None]:
    """The view with the cursors moved of the response being shown, if the event is about that one."""
    speaking = view.speaking
    if speaking is None or speaking.created.response != event.response:
        return view, None
    speaking = replace(speaking, played=move(speaking.played, event))
    return replace(view, speaking=speaking), speaking


def _ended(view: View, stored: Stored, event: v.ResponseEnded) -> tuple[View, Frames]:
    view, speaking = _moved(view, event)
    if speaking is None:
        return view, []
    said = full_text(speaking.played)
    complete = event.outcome == "completed"
    cut = event.outcome == "cancelled" and speaking.audio
    kept = heard_text(speaking.played, stored.at.mono_ns) if cut else said
    answer = _answer(speaking, kept, "completed" if complete else "incomplete")
    response = {
        **_response(speaking, event.outcome),
        "status_details": items.status_details(event),
        "output": [answer, *speaking.calls],
        "usage": items.usage(event.usage),
    }
    where: Json = {"response_id": event.response, "item_id": speaking.played.item}
    closing = (
        [(f.AudioDone, {}), (f.TranscriptDone, {"transcript": said})]
        if speaking.audio
        else [(f.TextDone, {"text": said})]
    )
    shown: list[tuple[Callable[..., f.Frame], Json]] = [
        *_held_back(speaking, event),
        *((kind, {**where, **members}) for kind, members in closing),
        (f.PartDone, {**where, "part": _part(speaking, said)}),
        (f.OutputItemDone, {"response_id": event.response, "output_index": 0, "item": answer}),
        (f.ItemDone, {"previous_item_id": speaking.created.previous, "item": answer}),
        (f.ResponseDone, {"response": response}),
    ]
    return replace(view, speaking=None), [
        kind(event_id=event_id(stored, k), **members) for k, (kind, members) in enumerate(shown)
    ]


def _held_back(speaking: Speaking, ended: v.ResponseEnded) -> list[tuple[Callable[..., f.Frame], Json]]:
    """Converting to another rate holds a few samples back: at the end of an answer they are sent, too."""
    whole = ended.outcome in ("completed", "incomplete")
    if not whole or speaking.format == PCM or not speaking.played.generated:
        return []
    return [(f.AudioDelta, _sounding(speaking))]


def _response(speaking: Speaking, status: str) -> Json:
    created = speaking.created
    cap = created.max_output_tokens
    return {
        "object": "realtime.response",
        "id": created.response,
        "status": status,
        "status_details": None,
        "output": [],
        "output_modalities": list(created.modalities),
        "max_output_tokens": "inf" if cap is None else cap,
        "metadata": created.metadata,
    }


def _part(speaking: Speaking, text: str) -> Json:
    return {"type": "audio", "transcript": text} if speaking.audio else {"type": "text", "text": text}


def _answer(speaking: Speaking, text: str, status: str) -> Json:
    part = v.Part(kind="output_audio" if speaking.audio else "output_text", text=text)
    said = v.Item(id=speaking.played.item, role="assistant", content=(part,))
    return items.item(said, status)


Show = Callable[[View, Stored, Any], tuple[View, Frames]]  # each takes the event of its key

SHOWS: dict[type[v.Event], Show] = {
    v.SessionOpened: _opened,
    v.SessionConfigured: _configured,
    v.ConfigRefused: _troubled,
    v.SessionExpired: _expired,
    v.SessionFailed: _troubled,
    v.CommandRefused: _refused,
    v.SpeechStarted: _speech_started,
    v.SpeechStopped: _speech_stopped,
    v.InputCommitted: _committed,
    v.InputTranscribed: _transcribed,
    v.InputCleared: _cleared,
    v.ItemAdded: _item_added,
    v.ItemRemoved: _item_removed,
    v.ItemTruncated: _item_truncated,
    v.ResponseCreated: _created,
    v.TextSpoken: _text,
    v.AudioSpoken: _audio,
    v.ToolCalled: _called,
    v.EpochAdvanced: _interrupted,
    v.FramesSent: _sent,
    v.PlaybackAcknowledged: _played,
    v.PlaybackEstimated: _played,
    v.ResponseEnded: _ended,
}
