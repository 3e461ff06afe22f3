"""What waits to be sent to one client: bounded in bytes, in order, and audio can be taken back.

A client that does not read is let go when the bound is reached: it never slows its session.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from msgspec import Struct

from antiphon.events.ids import ResponseId

LIMIT_BYTES = 8 * 1024 * 1024


class Letter(Struct, frozen=True, gc=False):
    """One text frame; for audio, what it is audio of and up to where."""

    text: str
    response: ResponseId | None = None
    until_sample: int = 0


class Farewell(Struct, frozen=True):
    """The last thing sent: a close frame."""

    code: int
    reason: str


class Outbox:
    """Filled by the attachment, emptied by `run`."""

    def __init__(self) -> None:
        self._letters: deque[Letter | Farewell] = deque()
        self._bytes = 0
        self._wake = asyncio.Event()
        self.overflowed = False
        self.closing = False

    def put(self, letter: Letter) -> None:
        if self.closing:
            return
        self._letters.append(letter)
        self._bytes += len(letter.text)
        if self._bytes > LIMIT_BYTES:
            self.overflowed = True
            self._letters.clear()
            self.close(1013, "the client reads too slowly")
        self._wake.set()

    def take_back_audio(self) -> None:
        """Drop audio that is not yet sent: the fence has moved, nobody may hear it any more."""
        kept = [one for one in self._letters if isinstance(one, Farewell) or one.response is None]
        if len(kept) != len(self._letters):
            self._letters = deque(kept)
            self._bytes = sum(len(one.text) for one in kept if isinstance(one, Letter))

    def close(self, code: int, reason: str) -> None:
        """Say farewell after everything that is already waiting. Repeating is harmless."""
        if not self.closing:
            self.closing = True
            self._letters.append(Farewell(code, reason))
            self._wake.set()

    async def run(
        self,
        send: Callable[[str], Awaitable[None]],
        close: Callable[[int, str], Awaitable[None]],
        sent: Callable[[Letter], None],
    ) -> None:
        """Send until the farewell. `sent` is called for audio, right after the socket took it."""
        while True:
            while self._letters:
                one = self._letters.popleft()
                if isinstance(one, Farewell):
                    await close(one.code, one.reason)
                    return
                self._bytes -= len(one.text)
                await send(one.text)
                if one.response is not None:
                    sent(one)
            self._wake.clear()
            await self._wake.wait()
