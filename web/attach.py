"""One client's connection to a session: projects what the session publishes, and reports what was sent.

It never appends. What its socket accepted it tells the actor: at first audio, then at most every 250 ms
(together with the client's own audio, where there is some), and when it goes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import msgspec
import structlog
from msgspec.structs import replace

from antiphon.actors.host import Hosted
from antiphon.actors.runtime import Published, Retrieved
from antiphon.actors.session import commands
from antiphon.events.envelope import Stored
from antiphon.events.ids import ResponseId
from antiphon.events.vocabulary import CommandRefused, EpochAdvanced, SessionClosed, SessionFailed
from antiphon.projections.realtime import frames as f
from antiphon.projections.realtime.errors import error
from antiphon.projections.realtime.items import retrieved
from antiphon.projections.realtime.step import View, step

from .outbox import Letter, Outbox

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
    "shutdown": 1001,
}
"""Why a session ended -> the close code. SDKs reconnect on 1001, 1011, 1012, 1013, never on 1000 or 1008."""

_LAST = (SessionClosed, SessionFailed)

_encode = msgspec.json.Encoder().encode


class RealtimeAttachment:
    """A plain Realtime client. Implements Sink; everything runs on the loop's thread."""

    def __init__(self, refused: Callable[[str], object]) -> None:
        """`refused` is called with the code of each command of this client that the session refuses."""
        self.outbox = Outbox(self._took)
        self.expelled = False
        self._refused = refused
        self.hosted: Hosted | None = None
        self._view = View(attachment=1)
        self._replies = 0
        self._sent: dict[ResponseId, int] = {}
        self._first: dict[ResponseId, int] = {}
        self._report_later: asyncio.Handle | None = None
        self._report_due = 0.0

    # --- what the session says ----------------------------------------------------------------------------

    def publish(self, batch: Sequence[Published]) -> None:
        for published in batch:
            stored = published.stored
            self._view, frames = step(self._view, stored)
            if type(stored.event) is EpochAdvanced:
                self.outbox.take_back_audio()
            elif type(stored.event) is CommandRefused:
                self._refused(stored.event.code)
            for frame in frames:
                self._put(frame, stored, published.payload)
            if type(stored.event) in _LAST:
                self._close_after(stored)

    def _put(self, frame: f.Frame, stored: Stored, payload: bytes | None) -> None:
        if type(frame) is f.AudioDelta:
            filled = replace(frame, delta=payload or b"")
            until = getattr(stored.event, "until_sample", 0)
            letter = Letter(_encode(filled), ResponseId(frame.response_id), until)
            self.outbox.put(letter)
        else:
            self.outbox.put(Letter(_encode(frame)))

    def _close_after(self, stored: Stored) -> None:
        match stored.event:
            case SessionClosed(reason=reason):
                self.outbox.close(CLOSE_CODES.get(reason, 1000), reason)
            case SessionFailed(code=code):
                self.outbox.close(CLOSE_CODES.get(code, 1011), code)

    def answer(self, answer: Retrieved) -> None:
        shown = retrieved(answer.entry, answer.state)
        self.outbox.put(Letter(_encode(f.ItemRetrieved(event_id=self._reply_id(), item=shown))))

    def refuse(self, code: str, message: str, client_event: str | None, parameter: str | None) -> None:
        """An answer that no log holds. A question about a missing item has its own code in this dialect."""
        if code == "item_not_found":
            code = "item_retrieve_invalid_item_id"
        frame = error(self._reply_id(), code, message, param=parameter, client_event=client_event)
        self.outbox.put(Letter(_encode(frame)))

    def abort(self, code: str, message: str) -> None:
        self.expelled = True
        self.refuse(code, message, None, None)
        self.outbox.close(CLOSE_CODES.get(code, 1011), code)

    def _reply_id(self) -> str:
        self._replies += 1
        return f"event_reply_{self._replies}"

    # --- what the socket took -----------------------------------------------------------------------------

    def _took(self, letter: Letter) -> None:
        """The socket accepted audio. Only noted: the session is told later, outside of its own turn."""
        response = letter.response
        if response is None:
            return
        first = response not in self._first
        if first:
            self._first[response] = time.monotonic_ns()
        self._sent[response] = letter.until_sample
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
        reports = self._reports()
        if self.hosted is not None:
            for report in reports:
                self.hosted.ask(self, report)

    def with_report(self, command: commands.AppendAudio) -> commands.AppendAudio:
        """The client's audio, and with it the report if one is due."""
        if len(self._sent) != 1 or asyncio.get_running_loop().time() < self._report_due:
            return command
        (report,) = self._reports()
        return replace(command, sent=report)

    def _reports(self) -> list[commands.ReportSent]:
        if self._report_later is not None:
            self._report_later.cancel()
            self._report_later = None
        sent, self._sent = self._sent, {}
        return [
            commands.ReportSent(
                attachment=0,
                response=response,
                until_sample=until,
                first_mono_ns=self._first[response],
            )
            for response, until in sent.items()
        ]

    def gone(self, reason: str, code: int | None) -> None:
        """The connection ended: the last report, then the leave."""
        self.outbox.abandon()
        self.report()
        if self.hosted is not None:
            self.hosted.ask(self, commands.Detach(attachment=0, reason=reason, code=code))
            self.hosted = None
