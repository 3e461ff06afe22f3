"""The session's own frames: beginning, configurations, troubles, end; and who has the turn."""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events import vocabulary as v
from antiphon.events.envelope import Stored
from antiphon.projections.base import expires_at
from antiphon.projections.measures import Measures

from . import errors
from . import frames as f
from .formats import output_format
from .session import session_object
from .view import Shown, View

SIGNALLED = {
    "user_started": "user_speaking",
    "user_committed": "user_committed",
    "assistant_started": "assistant_generating",
    "assistant_done": "idle",
}
"""What a client's signal makes of the turn state that is shown. Nothing else follows from it."""

OF_THE_USER = ("user_started", "user_committed")
"""Signals of what is answered next, unless it is being answered already."""

METRICS = "return_stage_metrics"
"""The option of a session whose client wants to know how long answers take."""

REASONS = {"client": "client_close", "disconnected": "disconnect"}
"""The protocol's words for why a session was closed; other reasons are shown as they are."""


def opened(view: View, stored: Stored, event: v.SessionOpened) -> tuple[View, Shown]:
    begun = replace(
        view,
        session=event.session,
        incarnation=event.incarnation,
        abilities=event.abilities,
        terms=event.terms,
        expires_at=expires_at(stored, event.terms),
    )
    view = _configured_by(begun, event.config)
    shown = session_object(view)
    own = {"attachment_generation": view.attachment, "resume_token": ""} if view.attachment else {}
    return view, [
        (f.SessionCreated, {"session": shown, "incarnation": event.incarnation, **own}),
        (f.SessionUpdated, {"session": shown, "config_generation": 0}),
    ]


def configured(view: View, stored: Stored, event: v.SessionConfigured) -> tuple[View, Shown]:
    view = replace(_configured_by(view, event.config), generation=event.generation)
    members = {"session": session_object(view), "config_generation": event.generation}
    return view, [(f.SessionUpdated, members)]


def _configured_by(view: View, config: v.Config) -> View:
    view = replace(view, config=config, output=output_format(config))
    if config.engine.get(METRICS) is not True:
        return replace(view, measures=None)
    by_pieces = view.abilities.hears == "continuously" and not view.abilities.unit_ms
    return replace(view, measures=view.measures or Measures(by_pieces=by_pieces))


def refused(view: View, stored: Stored, event: v.CommandRefused) -> tuple[View, Shown]:
    """Shown to whoever asked, or took the place of who did."""
    if event.attachment > view.attachment:
        return view, []
    return view, errors.told(event.code, event.message, event.parameter, event.client_event)


def config_refused(view: View, stored: Stored, event: v.ConfigRefused) -> tuple[View, Shown]:
    return view, errors.failed(event.code, event.message, event.client_event)


def without_stage(view: View, stored: Stored, event: v.StageRefused | v.StageLost) -> tuple[View, Shown]:
    """A lost voice detector detects no more. What the loss of the model means is told by what ends."""
    if event.stage == "voice":
        view = replace(view, abilities=replace(view.abilities, detects_voice=False))
    return view, []


def failed(view: View, stored: Stored, event: v.SessionFailed) -> tuple[View, Shown]:
    """With an answer under way its end has told what the trouble is (answering.ended)."""
    trouble = () if view.troubled else errors.failed(event.code, event.message)
    view, closing = _ended(view, event.code)
    return view, [*trouble, closing]


def closed(view: View, stored: Stored, event: v.SessionClosed) -> tuple[View, Shown]:
    view, closing = _ended(view, REASONS.get(event.reason, event.reason))
    return view, [closing]


def expired(view: View, stored: Stored, event: v.SessionExpired) -> tuple[View, Shown]:
    members = {"session_id": view.session, "reason": event.reason}
    return replace(view, phase="closed", turn_state="idle"), [(f.SessionExpired, members)]


def replaced(view: View, stored: Stored, event: v.ClientReplaced) -> tuple[View, Shown]:
    if event.attachment != view.attachment:
        return view, []
    members = {"session_id": view.session, "attachment_generation": event.attachment}
    return view, [(f.SessionReplaced, members)]


def _ended(view: View, reason: str) -> tuple[View, tuple[type[f.Frame], f.Json]]:
    raw = {"type": "session.closed", "session_id": view.session, "epoch": view.epoch, "reason": reason}
    members = {"session_id": view.session, "reason": reason, "event": raw}
    return replace(view, phase="closed", turn_state="idle"), (f.SessionClosed, members)


def signalled(view: View, stored: Stored, event: v.TurnSignalled) -> tuple[View, Shown]:
    view = replace(view, turn_state=SIGNALLED.get(event.event, view.turn_state))
    turn = view.turn + 1 if event.event in OF_THE_USER and view.speaking is None else view.turn
    return view, [_turn_event(view, event.event, turn)]


def turn_ended(view: View, stored: Stored, event: v.TurnEnded) -> tuple[View, Shown]:
    speaking = view.speaking
    if speaking is not None:
        view = replace(view, speaking=replace(speaking, turn_over=True))
    return view, [_turn_event(view, "model_turn_ended", view.turn, model_turn_id=event.turn)]


def _turn_event(view: View, event: str, turn: int, **more: int) -> tuple[type[f.Frame], f.Json]:
    return f.TurnEvent, {
        "session_id": view.session,
        "event": event,
        "turn_state": view.turn_state,
        "epoch": view.epoch,
        "turn_id": turn,
        **more,
    }
