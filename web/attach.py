"""One client's connection to a session: projects what the session publishes, and reports what was sent.

It never appends. What its socket accepted it tells the actor: at first audio, otherwise 250 ms after the
first frame that is not yet reported (together with the client's own audio, where there is some), and when it
goes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import structlog
from msgspec.structs import replace

from antiphon.actors.host import Hosted
from antiphon.actors.runtime import Published, Retrieved
from antiphon.actors.session import commands
from antiphon.events.envelope import Stored
from antiphon.events.vocabulary import CommandRefused, Config, EpochAdvanced, SessionClosed, SessionFailed
from antiphon.projections.base import frame_number

from .dialect import Dialect
from .outbox import Letter, Outbox
from .sent import Sent

log = structlog.get_logger(__name__)

REPORT_EVERY_S = 0.25
COMPANY_S = 0.1
"""How long a report that is due waits for audio of the client, to travel with it."""

CLOSE_CODES = {
    "resource_exhausted": 1013,
    "not_ready": 1013,
    "stage_lost": 1012,
    "stage_failed": 1008,
    "too_many_errors": 1008,
    "event_too_large": 1008,
    "shutdown": 1001,
}
"""Why a session ended -> the close code. SDKs reconnect on 1001, 1011, 1012, 1013, never on 1000 or 1008."""

_LAST = (SessionClosed, SessionFailed)


class Attachment:
    """A client of whatever dialect. Implements Sink; everything runs on the loop's thread."""

    def __init__(self, dialect: Dialect, refused: Callable[[str], object]) -> None:
        """`refused` is called with the code of each command of this client that the session refuses."""
        self.outbox = Outbox(self._took)
        self.expelled = False
        self.dialect = dialect
        self._refused = refused
        self.hosted: Hosted | None = None
        self._projection, self._audio = dialect.projection, dialect.audio
        self._sound = dialect.sound()
        self._view: Any = self._projection.begin(1)
        self._replies = 0
        self._sent = Sent(self._projection.version)
        self._report_later: asyncio.Handle | None = None
        self._report_due = 0.0

    def config(self) -> Config:
        """The configuration that holds, as far as it was published."""
        config: Config = self._view.config
        return config

    # --- what the session says ----------------------------------------------------------------------------

    def publish(self, batch: Sequence[Published]) -> None:
        for published in batch:
            stored = published.stored
            self._view, frames = self._projection.step(self._view, stored)
            if type(stored.event) is EpochAdvanced:
                self._sent.took_back(self.outbox.take_back_audio())
            elif type(stored.event) is CommandRefused:
                self._refused(stored.event.code)
            for k, frame in enumerate(frames):
                self._put(frame_number(stored.seq, k), frame, published)
            if type(stored.event) in _LAST:
                self._close_after(stored)

    def _put(self, number: int, frame: Any, published: Published) -> None:
        encode = self._projection.encode
        encoded, meaning = encode(frame), self._projection.meaning(frame, published.stored)
        if type(frame) is self._audio:
            filled, until, response = self._sound.fill(frame, published)
            letter = Letter(encode(filled), number, encoded, meaning, response, until)
        else:
            letter = Letter(encoded, number, encoded, meaning)
        self.outbox.put(letter)

    def _close_after(self, stored: Stored) -> None:
        match stored.event:
            case SessionClosed(reason=reason):
                told = self.dialect.reasons.get(reason, reason)
                self.outbox.close(CLOSE_CODES.get(reason, 1000), told)
            case SessionFailed(code=code):
                self.outbox.close(CLOSE_CODES.get(code, 1011), code)

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
        self.outbox.put(Letter(self._projection.encode(frame)))

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
        self.report()
        if self.hosted is not None:
            self.hosted.ask(self, commands.Detach(attachment=0, reason=reason, code=code))
            self.hosted = None
