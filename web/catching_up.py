"""What a client has missed, read in the log and sent before anything new.

The session publishes to the attachment from ClientResumed on; while it is behind, that only says how far the
log goes by now. The log is projected from a place before the last frame that the client has, in slices, and
no faster than the client reads. When the end is reached, between two turns of the loop, the attachment is as
if it had never been away.

    * First comes the reply that the dialect has for a resume, of the session as it was at the client's frame.
    * Frames are the same as ever, with their numbers: what the client has is passed over.
    * Audio of an epoch that is void by now is withheld: nobody wants to hear it any more.
    * Where the server keeps to the protocol's limits of a journal, or what was missed is erased, the client
      is told that it must begin anew.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import structlog
from msgspec import Struct

from antiphon.actors.runtime import Published
from antiphon.events.envelope import Stored
from antiphon.events.errors import LogError
from antiphon.events.ids import ResponseId, Seq, SessionId
from antiphon.events.store import Log
from antiphon.events.vocabulary import ClientReplaced, ClientResumed, EpochAdvanced, ResponseCreated
from antiphon.projections.base import seq_of

from .outbox import Letter, Outbox
from .retelling import Retelling
from .showing import Showing
from .trails import Walker

log = structlog.get_logger(__name__)

AHEAD_BYTES = 256 * 1024
"""How much may wait in the outbox before reading goes on."""
SLICE_S = 0.002
"""How long the loop is kept from others."""


class ReplayLimits(Struct, frozen=True):
    """The protocol's journal: how old what is told again may be, and how much. None: the log is enough."""

    ttl_s: float | None = None
    max_bytes: int | None = None


class Told(Protocol):
    """The attachment that catches up."""

    outbox: Outbox

    def resumed(self, event: ClientResumed, view: Any) -> None:
        """Tell the client that it is back."""

    def shown(self, stored: Stored) -> None:
        """The frames of an event are on their way."""

    def replaced(self, attachment: int) -> None:
        """Another has taken the connection's place before it had caught up: it has that number."""

    def withheld(self, letters: Sequence[Letter]) -> None:
        """They will not be sent."""

    def lost(self, reason: str) -> None:
        """Tell the client that it must begin anew, and let it go."""


class CatchingUp:
    """One connection's, until it is up to date."""

    def __init__(self, told: Told, token: bytes, limits: ReplayLimits) -> None:
        """`token` is the hash by which the connection's own ClientResumed is known."""
        self._told, self._limits, self._token = told, limits, token
        self._resumed: asyncio.Future[ClientResumed] = asyncio.get_running_loop().create_future()
        self._head = 0
        self._epoch = 0
        self._epochs: dict[ResponseId, int] = {}
        self._bytes = 0
        self._greeted = False

    def note(self, batch: Sequence[Published]) -> None:
        """This much is in the log by now."""
        for published in batch:
            event = published.stored.event
            if isinstance(event, ClientResumed) and event.token == self._token and not self._resumed.done():
                self._epoch = event.epoch
                self._resumed.set_result(event)
            elif isinstance(event, EpochAdvanced):
                self._epoch = event.next.epoch
                self._told.withheld(self._told.outbox.take_back_audio())
            elif isinstance(event, ClientReplaced) and self._is_ours(event.attachment):
                self._told.replaced(event.attachment)
        self._head = batch[-1].stored.seq + 1

    def _is_ours(self, attachment: int) -> bool:
        return self._resumed.done() and self._resumed.result().attachment == attachment

    async def catch_up(self, store: Log, session: SessionId, walker: Walker, showing: Showing) -> bool:
        """Send what was missed; whether it could be. `showing` is then at the end of the log."""
        resumed = await self._resumed
        projection, attachment = showing.dialect.projection, resumed.attachment
        place = walker.begin(resumed.after)
        if place is None:
            position, showing.view = Seq(0), projection.begin(attachment)
        else:
            position, showing.view = place.seq, projection.adopt(place.view, attachment)
            self._epochs.update((place.answer,) if place.answer else ())
        retelling = Retelling(store, session, showing, resumed.after)
        try:
            while position < self._head:
                until = self._head
                missed = store.read(session, start=position, stop=until)
                await self._tell(missed, resumed, showing, retelling)
                position = Seq(until)
            while retelling.hear_known():
                pass
        except _TooMuch as too_much:
            self._told.lost(too_much.reason)
            return False
        except LogError as error:
            log.warning("resume.log_unreadable", session=session, code=error.code)
            self._told.lost("journal_gap")
            return False
        return True

    async def _tell(
        self, events: Iterator[Stored], resumed: ClientResumed, showing: Showing, retelling: Retelling
    ) -> None:
        began = time.monotonic()
        for stored in events:
            if isinstance(stored.event, ResponseCreated):
                self._epochs[stored.event.response] = stored.event.fence.epoch
            letters = retelling.letters(stored)
            if not self._greeted and stored.seq >= seq_of(resumed.after) and showing.view.session:
                self._greeted = True
                self._told.resumed(resumed, showing.view)
                await self._hear_known(retelling)
            for letter in letters:
                self._put(letter, stored)
            self._told.shown(stored)
            if time.monotonic() - began > SLICE_S:
                await asyncio.sleep(0)
                began = time.monotonic()
            await self._told.outbox.below(AHEAD_BYTES)

    @staticmethod
    async def _hear_known(retelling: Retelling) -> None:
        """The sound of an answer that the client has in part goes on from that part, which may be long."""
        began = time.monotonic()
        while retelling.hear_known():
            if time.monotonic() - began > SLICE_S:
                await asyncio.sleep(0)
                began = time.monotonic()

    def _put(self, letter: Letter, stored: Stored) -> None:
        if letter.response is not None and self._epochs.get(letter.response, self._epoch) < self._epoch:
            self._told.withheld([letter])
            return
        self._bytes += len(letter.payload)
        limits = self._limits
        if limits.max_bytes is not None and self._bytes > limits.max_bytes:
            raise _TooMuch("journal_overflow")
        if limits.ttl_s is not None and time.time_ns() - stored.at.wall_ns > limits.ttl_s * 1e9:
            raise _TooMuch("journal_gap")
        self._told.outbox.put(letter)


class _TooMuch(Exception):
    """More was missed, or longer ago, than the limits allow."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
