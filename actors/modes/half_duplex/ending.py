"""How a call ends: by its client, with its connection, with the process, or because its time is over.

Its time runs from CallPrepared, whatever is said in it; before that a client has PREPARE_MS to prepare. An
answer that is being generated then is heard to its end, for as long as the session's terms give it. Speech
that goes on when the call ends is kept, unanswered.
"""

from __future__ import annotations

from antiphon.actors.session.commands import Park
from antiphon.actors.session.life import end_response, without_stage
from antiphon.actors.session.state import Session
from antiphon.events.units import SECOND_NS, Moment
from antiphon.events.vocabulary import (
    ClientDetached,
    Event,
    SessionClosed,
    SessionExpired,
    SessionFailed,
    StageLost,
    StageRefused,
)

from .call import of
from .hearing import open_speech

ENDS = {"closed": "client", "server": "shutdown", "expelled": "expelled"}
"""Why a connection ended, and so the call; of all others it is `disconnected`."""


def due_ns(state: Session) -> int:
    call = of(state)
    due = call.since_mono_ns + call.lasts_ms * 1_000_000
    if state.turns.active is not None:
        due += int(state.lease.terms.turn_grace_s * SECOND_NS)
    return due


def end(state: Session, at: Moment) -> list[Event]:
    if at.mono_ns < due_ns(state):
        return []
    return [SessionExpired(reason="timeout" if of(state).prepared else "prepare_timeout")]


def end_with_client(state: Session, event: ClientDetached, at: Moment) -> list[Event]:
    """Nobody comes back to a call."""
    if state.phase != "open":
        return []
    return [SessionClosed(reason=ENDS.get(event.reason, "disconnected"))]


def end_with_process(state: Session, command: Park, at: Moment) -> list[Event]:
    return [SessionClosed(reason=command.reason)]


def end_with_stage(state: Session, event: StageRefused | StageLost, at: Moment) -> list[Event]:
    """Nobody can be heard in a call without a voice detector."""
    if event.stage == "voice" and state.phase == "open":
        return [SessionFailed(code="server_vad_unavailable", message="the voice detector is gone")]
    return without_stage(state, event, at)


def end_speech(state: Session, event: Event, at: Moment) -> list[Event]:
    """Before a call ends its answer does, and what the user was saying."""
    return [*end_response(state, event, at), *open_speech(state, "end")]
