"""step(view, stored): the frames that an event amounts to for the client of a half-duplex call.

Every answer ends in a chunk that `is_final`; then comes `turn_done` where it ended by itself, `error` where
it failed, and neither where the call was stopped in the middle of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from antiphon.events import vocabulary as v
from antiphon.events.envelope import Stored
from antiphon.events.ids import ItemId
from antiphon.events.units import samples_to_ms
from antiphon.projections.slices import slices

from . import frames as f
from .view import View

Shown = tuple[View, list[f.Frame]]

BYTES_AS_RATE = 48_000
"""A float32 sample is two of pcm16: sound is cut as pcm16 of twice the rate would be."""
MOST_UNANSWERED = 32
"""Segments whose length is known: as many as may wait, and more."""
EXPIRED = {"prepare_timeout": "the call was not prepared in time"}


def step(view: View, stored: Stored) -> Shown:
    """The view after the event, and its frames in order."""
    show = SHOWS.get(type(stored.event))
    return (view, []) if show is None else show(view, stored, stored.event)


# --- the call ---------------------------------------------------------------------------------------------


def _opened(view: View, stored: Stored, event: v.SessionOpened) -> Shown:
    return replace(view, session=event.session, config=event.config), []


def _configured(view: View, stored: Stored, event: v.SessionConfigured) -> Shown:
    return replace(view, config=event.config), []


def _prepared(view: View, stored: Stored, event: v.CallPrepared) -> Shown:
    frame = f.Prepared(
        session_id=view.session,
        timeout_s=event.timeout_ms / 1000,
        recording_session_id=view.session if event.recorded else UNSET,
        not_applied=event.not_applied or UNSET,
    )
    return replace(view, prepared_ns=stored.at.mono_ns, turns=0, spoken=()), [frame]


def _closed(view: View, stored: Stored, event: v.SessionClosed) -> Shown:
    return view, [f.Stopped(session_id=view.session)] if event.reason == "client" else []


def _expired(view: View, stored: Stored, event: v.SessionExpired) -> Shown:
    if event.reason == "timeout":
        elapsed_s = (stored.at.mono_ns - view.prepared_ns) / 1e9
        return view, [f.Timeout(elapsed_s=round(elapsed_s, 1))]
    return view, [f.Error(error=EXPIRED.get(event.reason, event.reason), code=event.reason)]


def _troubled(view: View, stored: Stored, event: v.SessionFailed | v.ConfigRefused) -> Shown:
    return view, [f.Error(error=event.message, code=event.code)]


def _refused(view: View, stored: Stored, event: v.CommandRefused) -> Shown:
    if event.attachment > view.attachment:
        return view, []
    return view, [f.Error(error=event.message, code=event.code)]


# --- the user's side --------------------------------------------------------------------------------------


def _speech_started(view: View, stored: Stored, event: v.SpeechStarted) -> Shown:
    return replace(view, speaking=True), [f.VadState(speaking=True)]


def _speech_stopped(view: View, stored: Stored, event: v.SpeechStopped | v.InputCleared) -> Shown:
    """Also what is cleared while it is said is over."""
    return replace(view, speaking=False), [f.VadState(speaking=False)] if view.speaking else []


def _committed(view: View, stored: Stored, event: v.InputCommitted) -> Shown:
    if event.outcome not in ("asked", "deferred"):
        return view, []
    spoken = (*view.spoken, (event.item, event.until_sample - event.from_sample))
    return replace(view, spoken=spoken[-MOST_UNANSWERED:]), []


# --- the assistant's side ---------------------------------------------------------------------------------


def _created(view: View, stored: Stored, event: v.ResponseCreated) -> Shown:
    item = event.answers or _last(view)
    samples = dict(view.spoken).get(item, 0) if item is not None else 0
    left = tuple(one for one in view.spoken if one[0] != item)
    frame = f.Generating(speech_duration_ms=samples_to_ms(samples))
    return replace(view, spoken=left, chunks=0, words=""), [frame]


def _last(view: View) -> ItemId | None:
    return view.spoken[-1][0] if view.spoken else None


def _text(view: View, stored: Stored, event: v.TextSpoken) -> Shown:
    frame = f.Chunk(chunk_index=view.chunks, text_delta=event.text)
    return replace(view, chunks=view.chunks + 1, words=view.words + event.text), [frame]


def _audio(view: View, stored: Stored, event: v.AudioSpoken) -> Shown:
    pieces = slices(event.samples, BYTES_AS_RATE)
    frames: list[f.Frame] = [
        f.AudioChunk(chunk_index=view.chunks + k, duration_ms=samples_to_ms(samples))
        for k, samples in enumerate(pieces)
    ]
    return replace(view, chunks=view.chunks + len(frames)), frames


def _ended(view: View, stored: Stored, event: v.ResponseEnded) -> Shown:
    final = f.Chunk(chunk_index=view.chunks, is_final=True)
    over = replace(view, chunks=0, words="")
    if event.outcome in ("completed", "incomplete"):
        turns = view.turns + 1
        return replace(over, turns=turns), [final, f.TurnDone(turn_index=turns, text=view.words)]
    if event.outcome == "failed" and not event.session_over:  # else the session says why it fails
        told = event.message or "the answer failed"
        return over, [final, f.Error(error=told, code=event.reason or "response_error")]
    return over, [final]


SHOWS: Mapping[type[v.Event], Callable[[View, Stored, Any], Shown]] = {
    v.SessionOpened: _opened,
    v.SessionConfigured: _configured,
    v.CallPrepared: _prepared,
    v.SessionClosed: _closed,
    v.SessionExpired: _expired,
    v.SessionFailed: _troubled,
    v.ConfigRefused: _troubled,
    v.CommandRefused: _refused,
    v.SpeechStarted: _speech_started,
    v.SpeechStopped: _speech_stopped,
    v.InputCleared: _speech_stopped,
    v.InputCommitted: _committed,
    v.ResponseCreated: _created,
    v.TextSpoken: _text,
    v.AudioSpoken: _audio,
    v.ResponseEnded: _ended,
}
