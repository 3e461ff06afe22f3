"""turn.signal: some signals are another frame in disguise, its members in `payload`; others are passed on."""

from __future__ import annotations

from typing import Any

from antiphon.actors.session.commands import SignalTurn
from antiphon.web.realtime.session import can_be_kept
from antiphon.web.realtime.undecodable import Undecodable

from . import frames as f

DISGUISED = {
    **{
        name: name
        for name in (
            "input.cancel",
            "barge_in",
            "response.cancel",
            "session.update",
            "conversation.item.create",
            "conversation.item.delete",
            "conversation.item.truncate",
        )
    },
    "playback_ack": "playback.ack",
    "close": "session.close",
}
"""The signal's name -> the `type` of the frame that it is."""


def undisguised(frame: f.TurnSignal) -> dict[str, Any] | None:
    """The frame that the signal is, as it would have come by itself. None: a signal. Raises Undecodable."""
    if frame.event is None:
        raise Undecodable("invalid_type", "a signal needs an event", "event", frame.event_id)
    name = DISGUISED.get(frame.event)
    return None if name is None else {**frame.payload, "type": name, "event_id": frame.event_id}


def signal(frame: f.TurnSignal) -> SignalTurn:
    """Raises Undecodable."""
    if not can_be_kept(frame.payload):
        message = "numbers have 64 bits, and objects lie in each other only so deep"
        raise Undecodable("invalid_value", message, "payload", frame.event_id)
    return SignalTurn(client_event=frame.event_id, event=frame.event or "", payload=frame.payload)
