"""The ports through which a session actor reaches the world: time, stages, attachments.

The actor is the same under the server's event loop and under a test's virtual clock; only these differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from antiphon.events.envelope import Stored
from antiphon.events.ids import SessionId
from antiphon.events.units import Moment

from .session.commands import StageRole, TimerName
from .session.state import Entry, Session
from .stages.contract import StageCommand


class Published(Struct, frozen=True, gc=False):
    """An event that is in the log, with the bytes it speaks of if they are at hand."""

    stored: Stored
    payload: bytes | None = None


class Retrieved(Struct, frozen=True):
    """The answer to a question about an item: the entry and the state it was read from."""

    entry: Entry
    state: Session


class Sink(Protocol):
    """An attachment, as the actor sees it. Calls must not block and must not tell the actor anything back."""

    def publish(self, batch: Sequence[Published]) -> None:
        """Events in seq order, each exactly once, none before it is in the log."""

    def answer(self, answer: Retrieved) -> None:
        """A reply to this attachment's own question, in order with what was published."""

    def refuse(self, code: str, message: str, client_event: str | None, parameter: str | None) -> None:
        """A refusal that no log holds: a question about nothing, or a command after the end."""

    def abort(self, code: str, message: str) -> None:
        """The session cannot go on and cannot say so in its log. Nothing is published after this."""


class Runtime(Protocol):
    """What a session actor may ask of the process it lives in."""

    def now(self) -> Moment:
        """The present. Neither part ever goes back within one process."""

    def later(self, session: SessionId, due_mono_ns: int, name: TimerName) -> None:
        """Tell the session's actor TimerDue(name) once it is `due_mono_ns`, never from inside this call."""

    def to_stage(self, stage: StageRole, command: StageCommand) -> None:
        """Hand a command to a stage; batched, in order, never blocking."""

    def hold(self, session: SessionId, held: bool) -> None:
        """The session's log is so far behind what was decided that nothing more should be asked of it for
        now; or (not `held`) it has caught up."""

    def ended(self, session: SessionId) -> None:
        """The session is over and its log sealed (or lost): nothing will be told to its actor any more."""
