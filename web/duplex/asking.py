"""What the simple frames ask for: the same, whatever came before."""

from __future__ import annotations

from typing import NoReturn

from antiphon.actors.session import commands as c
from antiphon.events.ids import ItemId, ResponseId
from antiphon.web.realtime.undecodable import Undecodable

from . import frames as f

FURTHEST_MS = 10**9


def wants_answer(frame: f.Commit) -> bool | None:
    """What a commit says of an answer to it; None: as the session is configured."""
    asked = frame.create_response if frame.response_create is None else frame.response_create
    return frame.final if asked is None and isinstance(frame, f.InputCommit) else asked


def commit(frame: f.Commit) -> c.CommitInput:
    answer = wants_answer(frame)
    if answer and not frame.final:
        message = "an answer ends the user's turn: with final false none can be asked for"
        raise Undecodable("invalid_value", message, "final", frame.event_id)
    return c.CommitInput(
        client_event=frame.event_id,
        respond=answer,
        speech=frame.is_speech,
        any_length=True,
        final=frame.final,
    )


def close(frame: f.Close) -> c.CloseSession:
    """The client's word for why, unless it is one of ours."""
    ours = ("", "client", "client_close", "disconnected", "shutdown", "expelled")
    return c.CloseSession(
        client_event=frame.event_id, reason="client" if frame.reason in ours else frame.reason
    )


def event_ack(frame: f.EventAck) -> c.AcknowledgeEvents:
    number = frame.server_event_seq
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**63:
        message = "server_event_seq is the number of a frame"
        raise Undecodable("invalid_event_ack", message, "server_event_seq", frame.event_id)
    return c.AcknowledgeEvents(client_event=frame.event_id, attachment=0, through=number)


def resume(frame: f.SessionResume) -> NoReturn:
    message = "a connection resumes with its first frame or not at all"
    raise Undecodable("unsupported_session_resume", message, "type", frame.event_id)


def item_id(frame: f.OfItem) -> ItemId:
    if not frame.item_id:
        raise Undecodable("missing_item_id", "it takes an item_id", "item_id", frame.event_id)
    return ItemId(frame.item_id)


def _ms(value: float, parameter: str, client_event: str | None) -> int:
    if value < 0:
        raise Undecodable("invalid_value", f"{parameter} must not be negative", parameter, client_event)
    return int(min(value, FURTHEST_MS))


def played(frame: f.PlaybackAck) -> c.AcknowledgePlayback:
    event = frame.event_id
    sounded = _ms(frame.played_ms, "played_ms", event)
    heard = sounded if frame.committed_ms is None else _ms(frame.committed_ms, "committed_ms", event)
    return c.AcknowledgePlayback(
        client_event=event,
        heard_ms=heard,
        played_ms=sounded,
        response=response_id(frame.response_id),
        item=None if frame.item_id is None else ItemId(frame.item_id),
        truncate=frame.truncate,
    )


def truncate(frame: f.ItemTruncate) -> c.TruncateItem:
    return c.TruncateItem(
        client_event=frame.event_id,
        item=item_id(frame),
        audio_end_ms=_ms(frame.audio_end_ms, "audio_end_ms", frame.event_id),
        content_index=frame.content_index,
    )


def response_id(name: str | None) -> ResponseId | None:
    return None if name is None else ResponseId(name)
