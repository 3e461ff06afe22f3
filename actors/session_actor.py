"""The session actor: one conversation, one log, one writer. A thin thespian actor around SessionLoop.

Nothing a handler does may raise: thespian would deliver the message again (three times on the simple base).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog
from msgspec import Struct
from thespian.actors import Actor, ActorAddress

from antiphon.events.errors import LogError
from antiphon.events.ids import ItemId

from .runtime import Sink
from .session import commands
from .session.commands import TimerName
from .session_loop import Opening, SessionLoop
from .stages.contract import StageMessage

log = structlog.get_logger(__name__)


class Begin(Struct, frozen=True):
    """The first message: what to open, and the attachment that asked for it."""

    opening: Opening
    sink: Sink
    attach: commands.Attach | commands.Resume


class Come(Struct, frozen=True):
    """An attachment wants to take its place in the session."""

    sink: Sink
    resume: commands.Resume


class Ask(Struct, frozen=True, gc=False):
    """A client's command."""

    sink: Sink
    command: commands.Command


class Retrieve(Struct, frozen=True):
    """A client's question about an item."""

    sink: Sink
    item: ItemId
    client_event: str | None


class FromStage(Struct, frozen=True, gc=False):
    stage: commands.StageRole
    message: StageMessage


class StageGone(Struct, frozen=True):
    stage: commands.StageRole
    reason: str


class StageBack(Struct, frozen=True):
    stage: commands.StageRole


class TimerDue(Struct, frozen=True):
    name: TimerName


class Leave(Struct, frozen=True):
    """The process is about to end: park the session."""

    reason: str


class End(Struct, frozen=True):
    """Somebody who is not connected wants the session to end: see CloseSession."""

    reason: str


class Stop(Struct, frozen=True):
    """The process ends."""


class SessionActor(Actor):  # type: ignore[misc]  # thespian has no types
    """Hosts one session in a simpleSystemBase. Created by SessionHost, or by a test."""

    def __init__(self) -> None:
        super().__init__()
        self._name = ""
        self._loop: SessionLoop | None = None

    def receiveMessage(self, message: object, sender: ActorAddress) -> None:
        """Handle one message. Never raises."""
        loop = self._loop
        if loop is not None and not loop.over:
            if isinstance(message, FromStage):
                self._guarded(loop.stage_said, message.stage, message.message)
            elif isinstance(message, Ask):
                self._guarded(loop.ask, message.sink, message.command)
            elif (handle := _HANDLERS.get(type(message))) is not None:  # else it is one of thespian's own
                self._guarded(handle, loop, message)
        elif isinstance(message, Begin):
            self._begin(message)

    def _guarded(self, action: Callable[..., None], *given: Any) -> None:
        """Do what a message, or the log's answer, calls for. A bug ends this session, not its neighbours."""
        try:
            action(*given)
        except LogError as error:
            log.warning("session.log_failed", session=self._name, code=error.code)
            self._give_up(error.code, "the session's log cannot be written")
        except Exception:
            log.exception("session.failed", session=self._name)
            self._give_up("internal_error", "the session failed; its log is kept")

    def _give_up(self, code: str, message: str) -> None:
        if self._loop is not None:
            self._loop.give_up(code, message)

    def _begin(self, begin: Begin) -> None:
        loop = self._loop = SessionLoop(begin.opening, self._guarded)
        self._name = loop.id
        self._guarded(loop.begin)
        if isinstance(begin.attach, commands.Resume):
            self._guarded(loop.resume, begin.sink, begin.attach)
        else:
            self._guarded(loop.join, begin.sink, begin.attach)


_HANDLERS: dict[type, Callable[[SessionLoop, Any], None]] = {
    TimerDue: lambda loop, message: loop.timer_due(message.name),
    Retrieve: lambda loop, message: loop.retrieve(message.sink, message.item, message.client_event),
    StageGone: lambda loop, message: loop.stage_gone(message.stage, message.reason),
    StageBack: lambda loop, message: loop.stage_back(message.stage),
    Come: lambda loop, message: loop.resume(message.sink, message.resume),
    Leave: lambda loop, message: loop.park(message.reason),
    End: lambda loop, message: loop.end(message.reason),
    Stop: lambda loop, message: loop.stop(),
}
