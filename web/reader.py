"""What a client sends, one frame after the other: read, asked of the session, or answered as unreadable."""

from __future__ import annotations

import asyncio
import time

from antiphon.actors.hosted import Hosted
from antiphon.actors.session.commands import AppendAudio

from .attach import Attachment
from .direct import DirectWebSocket
from .intake import Intake
from .metrics import Metrics
from .pace import Pace
from .realtime.undecodable import Undecodable
from .wishes import AskItem, Beat, Decoder, Wish, counted

MOST_UNREADABLE = 100
WITHIN_S = 10.0
"""More unreadable frames than that within that time, and the client is let go."""


class Reader:
    """One connection's frames. `take` is synchronous; a session that is behind holds the reading."""

    def __init__(self, attachment: Attachment, hosted: Hosted, decoder: Decoder, metrics: Metrics) -> None:
        self._attachment, self._hosted, self._decoder, self._metrics = attachment, hosted, decoder, metrics
        self._inline, drops = attachment.dialect.inline, attachment.dialect.drops_when_full
        self._intake = Intake(decoder, self._ask, self._note, self._give_up, drops=drops, inline=self._inline)
        self._waiting, self._takes_bytes = self._intake.places, bool(attachment.dialect.binary)
        self._pace = Pace()
        self._unreadable: list[float] = []
        self._direct: DirectWebSocket | None = None
        self._holding: asyncio.Task[None] | None = None
        self.heard = False
        """Whether anything came since somebody last asked, and said so by setting this."""

    def listen(self, direct: DirectWebSocket) -> None:
        """Take frames as they come in, not through ASGI."""
        self._direct = direct
        direct.listen(self._take_direct, self._take_direct if self._takes_bytes else None)

    def take(self, text: str | bytes | None) -> None:
        """Do what a frame asks for, now or when it and those before it are read; None: it is neither."""
        self.heard = True
        self._attachment.confirm()
        try:
            if isinstance(text, bytes) and self._takes_bytes:
                self._intake.take_bytes(text)
                return
            if not isinstance(text, str):
                raise Undecodable("invalid_json", "frames are JSON text, not binary")
            if self._waiting or len(text) > self._inline:
                self._intake.take(text)
                return
            wishes = self._decoder.read(text)
        except Undecodable as bad:
            self._note(bad)
            return
        for wish in wishes if len(wishes) == 1 else counted(wishes):
            self._ask(wish)

    async def end(self) -> None:
        """The client is gone: what it sent still counts."""
        await self._intake.settled()
        for wish in self._decoder.flush():
            self._ask(wish)

    def abandon(self) -> None:
        """Nothing more is asked."""
        self._intake.end()

    async def caught_up(self) -> None:
        """Wait until what was sent is read, and the stages have caught up with it."""
        if self._intake.is_full:
            await self._intake.settled()
        if self._hosted.behind:
            await self._hosted.relieved()

    def _ask(self, wish: Wish) -> None:
        if type(wish) is AppendAudio:
            self._hosted.ask(self._attachment, self._attachment.with_report(wish))
        elif type(wish) is AskItem:
            self._hosted.retrieve(self._attachment, wish.item, wish.client_event)
        elif type(wish) is Beat:
            self._attachment.keep_alive()
            self._attachment.greet()
        else:
            self._hosted.ask(self._attachment, wish)  # type: ignore[arg-type]  # all others are commands

    def _take_direct(self, frame: str | bytes) -> None:
        self.take(frame)
        pause_s = self._pace.pause(time.monotonic()) if self._pace.passed() else 0.0
        behind = self._hosted.behind or (self._waiting and self._intake.is_full)
        if (behind or pause_s) and self._direct is not None and self._holding is None:
            self._direct.hold()
            self._holding = asyncio.create_task(self._go_on_later(self._direct, pause_s))

    async def _go_on_later(self, direct: DirectWebSocket, pause_s: float) -> None:
        await asyncio.sleep(pause_s)
        await self.caught_up()
        self._holding = None
        direct.go_on()

    def _give_up(self) -> None:
        self._attachment.abort("internal_error", "a frame could not be read")

    def _note(self, bad: Undecodable) -> None:
        self._metrics.dropped.inc()
        self._attachment.keep_alive()
        self._attachment.refuse(bad.code, bad.message, bad.client_event, bad.param)
        now = time.monotonic()
        self._unreadable = [at for at in self._unreadable if at > now - WITHIN_S] + [now]
        if len(self._unreadable) > MOST_UNREADABLE:
            self._attachment.abort("too_many_errors", "too many unreadable frames")
