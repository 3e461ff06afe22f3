"""step(view, stored): the frames that an event amounts to for the client of a continuous call.

A client is told once that the model listens, with its token if it has one, and nothing of the answer comes
before that. One that comes back is told anew, when the model listens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from antiphon.events import vocabulary as v
from antiphon.events.envelope import Stored
from antiphon.projections.slices import slices

from . import frames as f
from .view import View

Shown = tuple[View, list[f.Frame]]

CUT_AS_RATE = 60_000
"""Sound is cut into 80 ms as pcm16 of that rate would be into 200 ms."""
EXPIRED = {"max_session_expired": "the session's time is over"}


def step(view: View, stored: Stored) -> Shown:
    """The view after the event, and its frames in order."""
    show = SHOWS.get(type(stored.event))
    return (view, []) if show is None else show(view, stored.event)


def _greeted(view: View) -> Shown:
    if not view.ready or view.greeted:
        return view, []
    told: list[f.Frame] = [f.Ready()]
    if view.returns:
        told.append(f.Metadata(view.session))
    return replace(view, greeted=True), told


def _opened(view: View, event: v.SessionOpened) -> Shown:
    return replace(view, session=event.session, config=event.config), []


def _configured(view: View, event: v.SessionConfigured) -> Shown:
    return replace(view, config=event.config), []


def _attached(view: View, event: v.ClientAttached) -> Shown:
    mine = event.attachment == view.attachment
    return (replace(view, returns=bool(event.token)) if mine else view), []


def _resumed(view: View, event: v.ClientResumed) -> Shown:
    if event.attachment != view.attachment:
        return view, []
    return _greeted(replace(view, greeted=False, returns=True))


def _stage_opened(view: View, event: v.StageOpened) -> Shown:
    return _greeted(replace(view, ready=True)) if event.stage == "model" else (view, [])


def _not_ready(view: View, event: v.WriterOpened | v.StageAway) -> Shown:
    if isinstance(event, v.StageAway) and event.stage != "model":
        return view, []
    return replace(view, ready=False), []


def _text(view: View, event: v.TextSpoken) -> Shown:
    return view, [f.Text(event.text)]


def _audio(view: View, event: v.AudioSpoken) -> Shown:
    return view, [f.Audio() for _ in slices(event.samples, CUT_AS_RATE)]


def _ended(view: View, event: v.ResponseEnded) -> Shown:
    if event.outcome != "failed" or event.session_over:  # else the session says why it fails
        return view, []
    return view, [f.Error(event.reason or "response_error", event.message or "the answer failed")]


def _closed(view: View, event: v.SessionClosed) -> Shown:
    return view, [f.Done()] if event.reason == "client" else []


def _expired(view: View, event: v.SessionExpired) -> Shown:
    return view, [f.Error(event.reason, EXPIRED.get(event.reason, event.reason))]


def _failed(view: View, event: v.SessionFailed) -> Shown:
    return view, [f.Error(event.code, event.message)]


def _refused(view: View, event: v.CommandRefused) -> Shown:
    return view, [f.Error(event.code, event.message)] if event.attachment == view.attachment else []


SHOWS: Mapping[type[v.Event], Callable[[View, Any], Shown]] = {
    v.SessionOpened: _opened,
    v.SessionConfigured: _configured,
    v.ClientAttached: _attached,
    v.ClientResumed: _resumed,
    v.WriterOpened: _not_ready,
    v.StageOpened: _stage_opened,
    v.StageAway: _not_ready,
    v.TextSpoken: _text,
    v.AudioSpoken: _audio,
    v.ResponseEnded: _ended,
    v.SessionClosed: _closed,
    v.SessionExpired: _expired,
    v.SessionFailed: _failed,
    v.CommandRefused: _refused,
}
