"""What waits to be sent to one client: bounded in bytes, in order, and audio can be taken back.

A frame leaves the moment it is put, if nothing waits before it and the socket takes it (direct.py). What the
socket does not take waits here, and `run` sends it. A client that does not read is let go when the bound is
reached: it never slows its session.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from msgspec import Struct

from antiphon.events.ids import ResponseId

MOST_BYTES = 8 * 1024 * 1024
LONGEST_REASON = 123
"""Bytes of UTF-8 that a close frame has room for."""


class Letter(Struct, frozen=True, gc=False):
    """One frame, of text (UTF-8) or `binary`; for audio, what it is audio of and up to where.

    `number` is the frame's `server_event_seq`, -1 for a reply that no event holds. `encoded` and `meaning`
    are what the digest of sent frames is made of (projections/base.py).
    """

    payload: bytes
    number: int = -1
    encoded: bytes = b""
    meaning: bytes = b""
    response: ResponseId | None = None
    until_sample: int = 0
    binary: bool = False


class Farewell(Struct, frozen=True):
    """The last thing sent: a close frame."""

    code: int
    reason: str


class Outbox:
    """Filled by the attachment, emptied into the socket.

    `sent` is called for every numbered frame when the socket has taken it, maybe from inside `put`: it must
    only take note.
    """

    def __init__(self, sent: Callable[[Letter], None], most_bytes: int = MOST_BYTES) -> None:
        self._sent, self._most_bytes = sent, most_bytes
        self._letters: deque[Letter | Farewell] = deque()
        self._bytes = 0
        self._sending = False
        self._wake = asyncio.Event()
        self._less = asyncio.Event()
        self._send_now: Callable[[bytes, bool], bool] | None = None
        self._room: Callable[[], Awaitable[object]] | None = None
        self.overflowed = asyncio.Event()
        self.closing = False

    def use(self, send_now: Callable[[bytes, bool], bool], room: Callable[[], Awaitable[object]]) -> None:
        """A way past ASGI: `send_now` sends a payload (True: as binary) at once, or says that it cannot;
        `room` waits until it can."""
        self._send_now, self._room = send_now, room

    def put(self, letter: Letter) -> None:
        if self.closing:
            return
        nothing_waits = not self._letters and not self._sending
        if nothing_waits and self._send_now is not None and self._send_now(letter.payload, letter.binary):
            if letter.number >= 0:
                self._sent(letter)
            return
        self._letters.append(letter)
        self._bytes += len(letter.payload)
        if self._bytes > self._most_bytes:
            self.overflowed.set()
            self._letters.clear()
            self.close(1013, "the client reads too slowly")
        self._wake.set()

    async def below(self, most: int) -> None:
        """Wait until no more than `most` bytes wait, or nothing will be sent any more."""
        while self._bytes > most and not self.closing:
            self._less.clear()
            await self._less.wait()

    def take_back_audio(self) -> list[Letter]:
        """Drop audio that is not yet sent: the fence has moved, nobody may hear it any more."""
        kept: deque[Letter | Farewell] = deque()
        dropped: list[Letter] = []
        for one in self._letters:
            if isinstance(one, Farewell) or one.response is None:
                kept.append(one)
            else:
                dropped.append(one)
                self._bytes -= len(one.payload)
        self._letters = kept
        self._less.set()
        return dropped

    def abandon(self) -> None:
        """The connection is gone: whatever comes from now on goes nowhere."""
        self.closing = True
        self._letters.clear()
        self._less.set()

    def close(self, code: int, reason: str) -> None:
        """Say farewell after everything that is already waiting. Repeating is harmless."""
        if not self.closing:
            self.closing = True
            self._less.set()
            short = reason.encode()[:LONGEST_REASON].decode(errors="ignore")
            self._letters.append(Farewell(code, short))
            self._wake.set()

    async def run(
        self, send: Callable[[bytes, bool], Awaitable[None]], close: Callable[[int, str], Awaitable[None]]
    ) -> None:
        """Send until the farewell. Raises what the socket raises: then nothing more is sent.

        Past ASGI a letter is taken out only when the socket has room for it, so that until then it can be
        taken back.
        """
        while True:
            while self._letters:
                if self._room is not None:
                    await self._room()
                    if not self._letters:
                        break
                one = self._letters.popleft()
                if isinstance(one, Farewell):
                    await close(one.code, one.reason)
                    return
                self._bytes -= len(one.payload)
                self._less.set()
                if self._send_now is None or not self._send_now(one.payload, one.binary):
                    self._sending = True
                    await send(one.payload, one.binary)
                    self._sending = False
                if one.number >= 0:
                    self._sent(one)
            self._wake.clear()
            await self._wake.wait()
