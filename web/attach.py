"""One client's connection to a session: shows what the session publishes, and reports what was sent.

One that comes back first reads in the log what it has missed (catching_up.py). It never appends. What its
socket accepted it tells the actor: at first audio, otherwise 250 ms after the first frame that is not yet
reported (together with the client's own audio, where there is some), and when it goes.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import structlog
from msgspec.structs import replace

from antiphon.actors.hosted import Hosted
from antiphon.actors.runtime import Published, Retrieved
from antiphon.actors.session import commands
from antiphon.events.envelope import Stored
from antiphon.events.store import Log
from antiphon.events.vocabulary import (
    ClientReplaced,
    ClientResumed,
    CommandRefused,
    Config,
    EpochAdvanced,
    SessionClosed,
    SessionExpired,
    SessionFailed,
)
from antiphon.projections.base import frame_number

from .catching_up import CatchingUp, ReplayLimits
from .dialect import Dialect
from .outbox import MOST_BYTES, Letter
from .sent import Sent
from .showing import Showing
from .trails import Walker

log = structlog.get_logger(__name__)

REPORT_EVERY_S = 0.25
COMPANY_S = 0.1
"""How long a report that is due waits for audio of the client, to travel with it."""

CLOSE_CODES = {
    "resource_exhausted": 1013,
    "not_ready": 1013,
    "locked": 1013,
    "engine_dead": 1012,
    "stage_lost": 1012,
    "stage_failed": 1008,
    "undecodable_audio": 1007,
    "invalid_session_config": 1008,
    "persona_unsupported": 1008,
    "voice_unknown": 1008,
    "voice_unreadable": 1008,
    "finished": 1000,
    "too_many_errors": 1008,
    "invalid_resume_token": 1008,
    "session_resume_expired": 1008,
    "session_resume_conflict": 1008,
    "event_too_large": 1008,
    "shutdown": 1001,
}
"""Why a session ended -> the close code. SDKs reconnect on 1001, 1011, 1012, 1013, never on 1000 or 1008."""

_LAST = frozenset((SessionClosed, SessionExpired, SessionFailed, ClientReplaced))


class Attachment:
    """A client of whatever dialect. Implements Sink; everything runs on the loop's thread."""

    def __init__(
        self, dialect: Dialect, refused: Callable[[str], object], most_bytes: int = MOST_BYTES
    ) -> None:
        """`refused` is called with the code of each command of this client that the session refuses;
        `most_bytes` may wait to be sent."""
        self.outbox = dialect.outbox(self._took, self.withheld, most_bytes)
        self.expelled = False
        self.dialect = dialect
        self.token = secrets.token_urlsafe(32)
        """The client's secret; nobody else has it, and no log."""
        self._refused = refused
        self.hosted: Hosted | None = None
        self._showing = Showing(dialect, dialect.projection.begin(1), self.token)
        self._walker: Walker | None = None
        self._behind: CatchingUp | None = None
        self._unconfirmed = self.came_back = False
        self._replies = 0
        self._sent = Sent(dialect.projection.version)
        self._report_later: asyncio.Handle | None = None
        self._report_due = 0.0

    @property
    def token_hash(self) -> bytes:
        return hashed(self.token)

    def config(self) -> Config:
        """The configuration that holds, as far as it was published."""
        return self._showing.config

    def leave_views(self, walker: Walker) -> None:
        """Keep views along the way for whoever comes back."""
        self._walker = walker

    # --- coming back --------------------------------------------------------------------------------------

    def comes_back(self, limits: ReplayLimits) -> None:
        """It has missed something: until that is sent, nothing is shown as it is published."""
        self._behind = CatchingUp(self, self.token_hash, limits)
        self._unconfirmed = self.came_back = True

    async def catch_up(self, store: Log) -> bool:
        """Send what was missed; at the end whatever is published is shown again. Whether it could be."""
        if self._behind is None or self.hosted is None or self._walker is None:
            return True
        caught_up = await self._behind.catch_up(store, self.hosted.id, self._walker, self._showing)
        if caught_up:
            self._behind = None
        return caught_up

    def resumed(self, event: ClientResumed, view: Any) -> None:
        said = self.dialect.replies.resumed(self._reply_id(), view, event, self.token)
        if said is not None:
            self._reply(said)

    def replaced(self, attachment: int) -> None:
        if self.hosted is not None:
            said = self.dialect.replies.replaced(self._reply_id(), self.hosted.id, attachment)
            if said is not None:
                self._reply(said)
        self.outbox.close(1000, "session_replaced")

    def withheld(self, letters: Sequence[Letter]) -> None:
        self._sent.took_back(letters)

    def lost(self, reason: str) -> None:
        if self.hosted is not None:
            self._reply(self.dialect.replies.resync(self._reply_id(), self.hosted.id, reason))
        self.outbox.close(1008, "session_resync_required")

    def confirm(self) -> None:
        """A frame came from the client: it has its new token, or need not have it."""
        if self._unconfirmed and self.hosted is not None:
            self._unconfirmed = False
            self.hosted.ask(self, commands.ConfirmClient(attachment=0))

    def keep_alive(self) -> None:
        if self.hosted is not None:
            self.hosted.ask(self, commands.KeepAlive(attachment=0))

    # --- what the session says ----------------------------------------------------------------------------

    def publish(self, batch: Sequence[Published]) -> None:
        if self._behind is not None:
            self._behind.note(batch)
            return
        for published in batch:
            self._show(published)
            self.shown(published.stored)

    def _show(self, published: Published) -> None:
        stored, showing = published.stored, self._showing
        frames = showing.step(stored)
        if type(stored.event) is EpochAdvanced:
            self._sent.took_back(self.outbox.take_back_audio())
        elif type(stored.event) is CommandRefused:
            self._refused(stored.event.code)
        if not frames:
            showing.hold(published)
        for k, frame in enumerate(frames):
            self.outbox.put(showing.letter(frame_number(stored.seq, k), frame, published))

    def shown(self, stored: Stored) -> None:
        """The frames of an event are on their way: say farewell if they are the last."""
        if self._walker is not None:
            self._walker.passed(stored, self._showing.view, self._showing.is_stream)
        if type(stored.event) not in _LAST:
            return
        match stored.event:
            case SessionClosed(reason=reason):
                told = self.dialect.reasons.get(reason, reason)
                self.outbox.close(CLOSE_CODES.get(reason, 1000), told)
            case SessionExpired(reason=reason):
                self.outbox.close(1001, reason)
            case SessionFailed(code=code):
                self.outbox.close(CLOSE_CODES.get(code, 1011), code)
            case ClientReplaced(attachment=number) if number == self._showing.view.attachment:
                self.outbox.close(1000, "session_replaced")

    # --- replies ------------------------------------------------------------------------------------------

    def answer(self, answer: Retrieved) -> None:
        self._reply(self.dialect.replies.retrieved(self._reply_id(), answer))

    def refuse(self, code: str, message: str, client_event: str | None, parameter: str | None) -> None:
        """An answer that no log holds."""
        said = self.dialect.replies.refused(self._reply_id(), code, message, parameter, client_event)
        if said is not None:
            self._reply(said)

    def greet(self) -> None:
        """Answer a sign of life."""
        if self.hosted is not None:
            self._reply(self.dialect.replies.alive(self._reply_id(), self.hosted.id))

    def abort(self, code: str, message: str) -> None:
        self.expelled = True
        self.refuse(code, message, None, None)
        self.outbox.close(CLOSE_CODES.get(code, 1011), code)

    def turn_away(self, code: str, message: str, client_event: str | None, parameter: str | None) -> None:
        """No session opens for this client: one error, and the farewell."""
        self.refuse(code, message, client_event, parameter)
        self.outbox.close(CLOSE_CODES.get(code, 1008), code)

    def _reply(self, frame: Any) -> None:
        binary = isinstance(frame, self.dialect.binary)
        self.outbox.put(Letter(self.dialect.projection.encode(frame), binary=binary))

    def _reply_id(self) -> str:
        self._replies += 1
        return f"event_reply_{self._replies}"

    # --- what the socket took -----------------------------------------------------------------------------

    def _took(self, letter: Letter) -> None:
        """The socket accepted a frame. Only noted: the session is told later, outside of its own turn."""
        first = self._sent.took(letter)
        if first and self._report_later is not None:
            self._report_later.cancel()
            self._report_later = None
        if self._report_later is None:
            loop = asyncio.get_running_loop()
            self._report_due = loop.time() + REPORT_EVERY_S
            self._report_later = (
                loop.call_soon(self.report)
                if first
                else loop.call_at(self._report_due + COMPANY_S, self.report)
            )

    def report(self) -> None:
        """Tell the session what was sent since the last report."""
        report = self._report()
        if self.hosted is not None and report is not None:
            self.hosted.ask(self, report)

    def with_report(self, command: commands.AppendAudio) -> commands.AppendAudio:
        """The client's audio, and with it the report if one is due."""
        if self._report_later is None or asyncio.get_running_loop().time() < self._report_due:
            return command
        return replace(command, sent=self._report())

    def _report(self) -> commands.ReportSent | None:
        if self._report_later is not None:
            self._report_later.cancel()
            self._report_later = None
        return self._sent.report()

    def gone(self, reason: str, code: int | None) -> None:
        """The connection ended: the last report, then the leave."""
        self.outbox.abandon()
        if self._walker is not None:
            self._walker.keep()
        self.report()
        if self.hosted is not None:
            self.hosted.ask(self, commands.Detach(attachment=0, reason=reason, code=code))
            self.hosted = None


def hashed(token: str) -> bytes:
    """What a log keeps of a token: its SHA-256."""
    return hashlib.sha256(token.encode()).digest()
