"""Connections: who may command the session, and what happens when they go.

One connection commands at a time. When it goes, the session waits for it to come back, if its terms say so
(lease.py); a client that closes its connection, or that is sent away, ends the session. Whoever presents the
token that the latest connection was given takes its place: the fence moves first (ClientReplaced), and from
then on the earlier connection asks for nothing. A new token is given with every resume; the former ones are
good until a frame has come from the new connection, which therefore had its answer: until then nobody knows
which of them the client has.

What was taken in from a client before it lost its connection, and is sent again after, is taken in once. What
a client signals of the turn is told to whoever watches, and obeyed by nobody.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events.units import Moment
from antiphon.events.vocabulary import (
    ClientAttached,
    ClientConfirmed,
    ClientDetached,
    ClientReplaced,
    ClientResumed,
    CommandRefused,
    CommandsAccepted,
    Event,
    EventsAcknowledged,
    FramesSent,
    SessionClosed,
    SessionOpened,
    SessionParked,
    TurnSignalled,
)

from . import commands as c
from .refusals import InvalidToken, NoSuchFrame, ResumeConflict
from .state import Accepted, Attached, Session

FRAMES_PER_EVENT = 64
"""What separates the numbers of two events' first frames."""

MOST_FORMER_TOKENS = 8
"""Of connections whose answers may all have been lost."""

OF_NO_CLIENT = (c.Attach, c.Resume, c.Detach, c.ReportSent)
"""What may come of a connection that commands no more, or not yet."""
NOT_REMEMBERED = (*OF_NO_CLIENT, c.ConfirmClient, c.KeepAlive, c.AcknowledgeEvents)


def attach(state: Session, command: c.Attach, at: Moment) -> list[Event]:
    return [
        ClientAttached(
            attachment=state.attached.count + 1,
            dialect=command.dialect,
            client=command.client,
            token=command.token,
        )
    ]


def resume(state: Session, command: c.Resume, at: Moment) -> list[Event]:
    """Refusals of it are nobody's fault in the session: they are told, and not recorded."""
    attached = state.attached
    known = command.presented in (attached.token, *attached.former_tokens)
    if not command.presented or not known or command.principal != state.principal:
        raise InvalidToken("the token is not this session's, or not any more", parameter="resume_token")
    if command.mode not in ("", state.mode):
        raise ResumeConflict(f"this is a session of another kind: {state.mode}", parameter="session_id")
    after = state.seq * FRAMES_PER_EVENT - 1 if command.live else command.after
    if after is None:
        after = attached.reported if attached.acknowledged < 0 else attached.acknowledged
    if after >= state.seq * FRAMES_PER_EVENT:
        raise ResumeConflict(f"no frame {after} was sent", parameter="last_received_server_event_seq")
    resumed = ClientResumed(
        attachment=attached.count + 1,
        dialect=command.dialect,
        after=after,
        epoch=state.fence.epoch,
        client=command.client,
        token=command.token,
        last_client_event=state.accepted.last,
    )
    replaced = [ClientReplaced(attachment=attached.current)] if attached.current else []
    return [*replaced, resumed]


def confirm(state: Session, command: c.ConfirmClient, at: Moment) -> list[Event]:
    if not state.attached.former_tokens:
        return []
    return [ClientConfirmed(attachment=command.attachment)]


def detach(state: Session, command: c.Detach, at: Moment) -> list[Event]:
    if command.attachment == 0 or command.attachment != state.attached.current:
        return []
    return [ClientDetached(attachment=command.attachment, reason=command.reason, code=command.code)]


def acknowledge_events(state: Session, command: c.AcknowledgeEvents, at: Moment) -> list[Event]:
    """Frames up to that number need not be said again. Of less than is known it is nothing."""
    if not 0 <= command.through < state.seq * FRAMES_PER_EVENT:
        raise NoSuchFrame(f"no frame {command.through} was sent", parameter="server_event_seq")
    if command.through <= state.attached.acknowledged:
        return []
    return [EventsAcknowledged(attachment=command.attachment, through=command.through)]


def signal_turn(state: Session, command: c.SignalTurn, at: Moment) -> list[Event]:
    return [TurnSignalled(event=command.event, payload=command.payload)]


def is_void(state: Session, command: c.Command, attachment: int) -> bool:
    """Whether a command of that connection counts for nothing: another has taken its place, or the same was
    taken in before it."""
    if not attachment or isinstance(command, OF_NO_CLIENT):
        return False
    if attachment != state.attached.current:
        return True
    return bool(state.accepted.before) and command.accepted_as in state.accepted.before


def taken_in(state: Session, command: c.Command, attachment: int) -> CommandsAccepted | None:
    """The record that a client's command was taken in, where clients can send it again."""
    event = command.accepted_as
    if event is None or not attachment or not state.config.strict or isinstance(command, NOT_REMEMBERED):
        return None
    earlier = command.earlier_events if isinstance(command, c.AppendAudio) else ()
    return CommandsAccepted(attachment=attachment, client_events=(*earlier, event))


def end_alone(state: Session, event: ClientDetached, at: Moment) -> list[Event]:
    comes_back = event.reason in ("lost", "slow", "server") and state.lease.terms.disconnect_grace_s > 0
    if comes_back or state.phase != "open":
        return []
    reasons = {"closed": "client", "server": "shutdown", "expelled": "expelled"}
    return [SessionClosed(reason=reasons.get(event.reason, "disconnected"))]


def fold(state: Session, event: Event, at: Moment) -> Session:
    attached = state.attached
    match event:
        case SessionOpened(principal=principal):
            return replace(state, principal=principal)
        case ClientAttached(attachment=number, token=token):
            return replace(state, attached=Attached(number, number, token=token))
        case ClientResumed(attachment=number, token=token, after=after):
            former = _former(attached)
            resumed = Attached(number, number, reported=after, token=token, former_tokens=former)
            return replace(state, attached=resumed)
        case ClientConfirmed():
            return replace(state, attached=replace(attached, former_tokens=()))
        case ClientDetached(attachment=number) if number == attached.current:
            return replace(state, attached=replace(attached, current=0))
        case SessionParked():
            return replace(state, attached=replace(attached, current=0))
        case FramesSent(attachment=number, through=through) if number == attached.count:
            return replace(state, attached=replace(attached, reported=through))
        case EventsAcknowledged(through=through):
            return replace(state, attached=replace(attached, acknowledged=through))
        case _:
            return state


def _former(attached: Attached) -> tuple[bytes, ...]:
    """Of many the first, which the client has had, and the latest."""
    tokens = (*attached.former_tokens, attached.token)
    return (tokens[0], *tokens[1:][1 - MOST_FORMER_TOKENS :])


def fold_accepted(state: Session, event: Event, at: Moment) -> Session:
    """Which frames of clients were taken in, those that were refused among them."""
    accepted, most = state.accepted, state.lease.terms.remembered_commands
    match event:
        case CommandsAccepted(client_events=ids):
            return replace(state, accepted=_with(accepted, ids, most))
        case CommandRefused(client_event=str(one)) if state.config.strict:
            return replace(state, accepted=_with(accepted, (one,), most))
        case ClientResumed():
            before = (*accepted.before, *accepted.now)[-most:]
            return replace(state, accepted=Accepted(before=before, last=accepted.last))
        case _:
            return state


def _with(accepted: Accepted, ids: tuple[str, ...], most: int) -> Accepted:
    return replace(accepted, now=(*accepted.now, *ids)[-most:], last=ids[-1])
