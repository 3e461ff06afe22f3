"""One watcher as its requests reach it: asked for one thing at a time, and answered by what its session says.

There is no connection that lasts: the watcher's attachment does, until its session has ended. What a request
was answered is reported to the session as what a socket has taken is, so that it can be projected again.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from antiphon.actors.hosted import Hosted
from antiphon.actors.modes.joyvl.commands import SetPersona, Tick
from antiphon.actors.modes.joyvl.watch import of
from antiphon.actors.runtime import Published, Retrieved
from antiphon.actors.session import commands
from antiphon.events.store import Log
from antiphon.events.vocabulary import (
    DelegationReady,
    PersonaSet,
    SessionClosed,
    SessionExpired,
    SessionFailed,
)
from antiphon.projections.base import frame_number
from antiphon.projections.joyvl import frames as f
from antiphon.projections.joyvl.projection import JoyvlProjection
from antiphon.web.outbox import Letter
from antiphon.web.sent import Sent

DIALECT = "joyvl"
MOST_WAITING = 1
"""Requests that wait behind the one under way."""

PROJECTION = JoyvlProjection()


class Busy(Exception):
    """Too many requests wait for this watcher already."""


class Watcher:
    """Implements Sink; everything runs on the loop's thread."""

    def __init__(self, store: Log) -> None:
        self._store = store
        self.hosted: Hosted | None = None
        self.over = False
        self._view = PROJECTION.begin(1)
        self._sent = Sent(PROJECTION.version)
        self._turn = asyncio.Lock()
        self._queued = 0
        self._answer: asyncio.Future[f.Frame | None] | None = None

    # --- requests -----------------------------------------------------------------------------------------

    async def tick(self, command: Tick) -> f.Frame:
        """What becomes of it. Raises Busy."""
        if self._queued > MOST_WAITING:
            raise Busy
        answer = await self._ask(command)
        return answer or f.failed("session_closed", "the session has ended")

    async def set_persona(self, persona: str) -> None:
        """Of a name that there is."""
        await self._ask(SetPersona(persona=persona))

    async def end(self, reason: str) -> None:
        """Once what is under way has been answered."""
        await self._ask(commands.CloseSession(reason=reason))

    async def _ask(self, command: commands.Command) -> f.Frame | None:
        self._queued += 1
        try:
            async with self._turn:
                if self.over or self.hosted is None:
                    return None
                self._answer = asyncio.get_running_loop().create_future()
                self.hosted.ask(self, command)
                if isinstance(command, SetPersona) and not self._answer.done():
                    self._answer.set_result(None)  # it is as it was asked for already
                answer = await asyncio.shield(self._answer)
                self._report()
                return answer
        finally:
            self._queued -= 1

    def _report(self) -> None:
        report = self._sent.report()
        if report is not None and self.hosted is not None:
            self.hosted.ask(self, report)

    # --- what the session says ----------------------------------------------------------------------------

    def publish(self, batch: Sequence[Published]) -> None:
        for published in batch:
            stored = published.stored
            self._view, frames = PROJECTION.step(self._view, stored)
            for k, frame in enumerate(frames):
                encoded = PROJECTION.encode(frame)
                meaning = PROJECTION.meaning(frame, stored)
                self._sent.took(Letter(encoded, frame_number(stored.seq, k), encoded, meaning))
                self._tell(self._with_pictures(frame))
            if isinstance(stored.event, PersonaSet):
                self._tell(None)
            elif isinstance(stored.event, SessionClosed | SessionExpired | SessionFailed):
                self._leave()

    def _with_pictures(self, frame: f.Frame) -> f.Frame:
        """With the pictures that delegations have made, out of the log."""
        if isinstance(frame, f.Failed) or all(one.media is UNSET for one in frame.interaction.delegations):
            return frame
        filled = tuple(self._with_picture(one) for one in frame.interaction.delegations)
        told = replace(frame.interaction, delegations=filled, delegation=filled[-1])
        return replace(frame, interaction=told)

    def _with_picture(self, told: f.Delegation) -> f.Delegation:
        state = self._view.state
        made = next((one for one in of(state).delegated if told.task_id == f"deleg-{one.task}"), None)
        if made is None or made.image is None or told.media is UNSET:
            return told
        stored = next(self._store.read(state.id, start=made.image, stop=made.image + 1))
        if stored.blob is None or not isinstance(stored.event, DelegationReady):
            return told
        contents = base64.b64encode(self._store.read_blob(state.id, stored.blob)).decode()
        return replace(told, media=f"data:{stored.event.media_type};base64,{contents}")

    def answer(self, answer: Retrieved) -> None:
        raise NotImplementedError("nobody asks for items here")

    def refuse(self, code: str, message: str, client_event: str | None, parameter: str | None) -> None:
        self._tell(f.failed(code, message, "invalid_request_error", parameter))

    def abort(self, code: str, message: str) -> None:
        self.over = True
        self._tell(f.failed(code, message))

    def _tell(self, frame: f.Frame | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(frame)

    def _leave(self) -> None:
        """The session has ended: let go of it, so that its log is sealed. Not from inside its own turn."""
        self.over = True
        self._tell(None)
        asyncio.get_running_loop().call_soon(self._detach)

    def _detach(self) -> None:
        if self.hosted is not None:
            self._report()
            self.hosted.ask(self, commands.Detach(attachment=0, reason="closed"))
            self.hosted = None


def status_of(frame: f.Frame) -> int:
    """The HTTP status of an answer."""
    return 200 if isinstance(frame, f.Decided) else STATUS.get(frame.error.code, 502)


STATUS: dict[str, int] = {
    "active_response": 429,
    "event_too_large": 413,
    "internal_error": 500,
    "invalid_input_modality": 503,
    "invalid_value": 400,
    "llm_timeout": 504,
    "session_closed": 409,
    "stage_timeout": 504,
    "too_many_errors": 429,
}
"""By the code of its error; of all others the model is to blame: 502."""


def as_bytes(frame: Any) -> bytes:
    return PROJECTION.encode(frame)
