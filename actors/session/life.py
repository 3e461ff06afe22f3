"""The life of a session: opened, closed or failed, and the stages that serve it.

A session is open from SessionOpened until SessionClosed, SessionExpired or SessionFailed, and then nothing of
it changes. A process that stops does not end it, unless its terms are that nobody may come back. One that
hands it over to another process parks it, as taken over from whoever was connected.
Ending it ends what is being generated first. A model stage that will not take the session in, or is lost for
good, takes the session with it; without its voice detector the session goes on without server VAD.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events.ids import SessionId
from antiphon.events.units import Moment
from antiphon.events.vocabulary import (
    ClientDetached,
    ClientReplaced,
    ConfigRefused,
    Event,
    ResponseEnded,
    SessionClosed,
    SessionConfigured,
    SessionExpired,
    SessionFailed,
    SessionForked,
    SessionOpened,
    SessionParked,
    StageAway,
    StageLost,
    StageOpened,
    StageRefused,
    StageReleased,
    StageReturned,
    WriterOpened,
)

from .commands import CloseSession, Fork, OpenSession, OpenWriter, Park, RecordStage
from .state import STAGE_LOST, Session

HANDOVER = "handover"
"""Why a session is parked that goes on in another process at once."""

FORKED = "forked"
"""Why a copy is parked that nobody has come to yet."""

FORMERLY = {"realtime": "duplex"}
"""What logs of earlier versions call a mode."""


def open_writer(state: Session, command: OpenWriter, at: Moment) -> list[Event]:
    opened = WriterOpened(
        writer_epoch=command.writer_epoch,
        code=command.code,
        boot=command.boot,
        projections=command.projections,
    )
    current = state.attached.current if command.alone else 0
    return [opened, ClientDetached(attachment=current, reason="lost")] if current else [opened]


def open_session(state: Session, command: OpenSession, at: Moment) -> list[Event]:
    return [
        SessionOpened(
            session=SessionId(state.id),
            incarnation=command.incarnation,
            mode=command.mode,
            abilities=command.abilities,
            config=command.config,
            principal=command.principal,
            terms=command.terms,
        )
    ]


def close_session(state: Session, command: CloseSession, at: Moment) -> list[Event]:
    return [SessionClosed(reason=command.reason)]


def park(state: Session, command: Park, at: Moment) -> list[Event]:
    parked = SessionParked(reason=command.reason)
    if command.reason == HANDOVER:
        current = state.attached.current
        return [ClientReplaced(attachment=current), parked] if current else [parked]
    if state.lease.terms.disconnect_grace_s > 0:
        return [parked]
    return [SessionClosed(reason=command.reason)]


def fork(state: Session, command: Fork, at: Moment) -> list[Event]:
    """Whoever was connected was connected to the other one."""
    forked = SessionForked(session=command.session, incarnation=command.incarnation, at=command.source_seq)
    return [forked, SessionParked(reason=FORKED)]


def end_response(state: Session, event: Event, at: Moment) -> list[Event]:
    """Before a session ends its answer does, so that every created response has its end."""
    active = state.turns.active
    if active is None:
        return []
    ended = ResponseEnded(
        response=active.response, outcome="cancelled", reason="session_closed", session_over=True
    )
    if isinstance(event, SessionFailed):
        return [replace(ended, outcome="failed", reason=event.code, message=event.message)]
    return [ended]


def record_stage(state: Session, command: RecordStage, at: Moment) -> list[Event]:
    match command.what:
        case "opened":
            return [StageOpened(stage=command.stage, engine=command.engine)]
        case "released":
            return [StageReleased(stage=command.stage)]
        case "away":
            held = command.stage in state.holding  # else it was away, or given up, before
            return [StageAway(stage=command.stage, reason=command.message)] if held else []
        case "returned":
            away = any(stage == command.stage for stage, _ in state.away)
            return [StageReturned(stage=command.stage)] if away and state.phase == "open" else []
        case "refused":
            refused = StageRefused(
                stage=command.stage,
                code=command.code,
                message=command.message,
                retryable=command.retryable,
            )
            return [refused]
        case settled:
            raise AssertionError(f"{settled}: that is for configuration.settle")


def without_stage(state: Session, event: StageRefused | StageLost, at: Moment) -> list[Event]:
    """What the loss of a stage means for the session. A configuration that follows from it has no number of
    its own: nobody asked for it."""
    if state.phase != "open":
        return []
    if event.stage == "model":
        if isinstance(event, StageRefused):
            return [SessionFailed(code=event.code, message=event.message)]
        return [SessionFailed(code=STAGE_LOST, message="the model did not come back")]
    if state.config.turn_detection is None:
        return []
    lost = replace(state.config, turn_detection=None)
    listening = lost.overlap and replace(lost.overlap, policy="listen_only")
    return [
        ConfigRefused(
            code="server_vad_unavailable",
            message="the voice detector is gone: commit the input yourself",
        ),
        SessionConfigured(config=replace(lost, overlap=listening), generation=state.generation),
    ]


def fold(state: Session, event: Event, at: Moment) -> Session:
    match event:
        case SessionOpened(incarnation=incarnation, abilities=abilities, config=config, mode=mode):
            holding = frozenset({"model", "voice"} if abilities.detects_voice else {"model"})
            opened = replace(state, incarnation=incarnation, phase="open", holding=holding)
            return replace(opened, abilities=abilities, config=config, mode=FORMERLY.get(mode, mode))
        case SessionClosed() | SessionExpired() | SessionFailed():
            return replace(state, phase="closed")
        case WriterOpened(writer_epoch=epoch, boot=boot):
            return replace(state, writer_epoch=epoch, boot=boot)
        case _:
            return state


def fold_stages(state: Session, event: Event, at: Moment) -> Session:
    """Which stages have the session, and that a lost voice detector detects no more.

    A stage that refuses is told to let go like any other, and says when it has.
    """
    match event:
        case StageReleased(stage=stage) | StageRefused(stage=stage) | StageLost(stage=stage):
            if not isinstance(event, StageRefused):
                state = replace(state, holding=state.holding - {stage})
            if stage == "voice" and not isinstance(event, StageReleased):
                return replace(state, abilities=replace(state.abilities, detects_voice=False))
            return state
        case _:
            return state
