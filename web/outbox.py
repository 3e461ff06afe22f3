"""What waits to be sent to one client: bounded in bytes, in order, and audio can be taken back.

A frame leaves the moment it is put if nothing waits before it and the socket takes it, which is nearly
always: a task that is woken for every frame costs as much as the frame. What the socket does not take at
once waits here, and `run` goes on with it. A client that does not read is let go when the bound is reached:
it never slows its session.
"""

from __future__ import annotations

import asyncio
import types
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import Any

from litestar.exceptions import WebSocketDisconnect
from msgspec import Struct

from antiphon.events.ids import ResponseId

LIMIT_BYTES = 8 * 1024 * 1024

Sending = Coroutine[Any, Any, None]


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
    """Filled by the attachment, emptied into the socket.

    `sent` is called for audio when the socket has taken it, from inside `put`: it must not do more than take
    note.
    """

    def __init__(self, sent: Callable[[Letter], None]) -> None:
        self._sent = sent
        self._send: Callable[[str], Sending] | None = None
        self._letters: deque[Letter | Farewell] = deque()
        self._bytes = 0
        self._begun: tuple[Letter, Sending, object] | None = None
        """A frame the socket did not take at once, and what its sending waits for."""
        self._broken: BaseException | None = None
        self._wake = asyncio.Event()
        self.overflowed = False
        self.closing = False

    def put(self, letter: Letter) -> None:
        if self.closing:
            return
        if self._send is not None and not self._letters and self._begun is None and self._broken is None:
            self._send_now(letter, self._send)
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

    def abandon(self) -> None:
        """The connection is gone: whatever comes from now on goes nowhere."""
        self.closing = True
        self._letters.clear()

    def close(self, code: int, reason: str) -> None:
        """Say farewell after everything that is already waiting. Repeating is harmless."""
        if not self.closing:
            self.closing = True
            self._letters.append(Farewell(code, reason))
            self._wake.set()

    async def run(self, send: Callable[[str], Sending], close: Callable[[int, str], Sending]) -> None:
        """Send until the farewell. Raises what the socket raises: then nothing more is sent."""
        self._send = send
        while True:
            await self._finish_begun()
            while self._letters:
                one = self._letters.popleft()
                if isinstance(one, Farewell):
                    await close(one.code, one.reason)
                    return
                self._bytes -= len(one.text)
                await send(one.text)
                self._taken(one)
            self._wake.clear()
            await self._wake.wait()

    def _send_now(self, letter: Letter, send: Callable[[str], Sending]) -> None:
        """Begin sending without a task; nearly always that is all of it."""
        sending = send(letter.text)
        try:
            waits_for = sending.send(None)
        except StopIteration:
            self._taken(letter)
        except (OSError, WebSocketDisconnect) as error:  # the connection is gone: `run` ends with it
            self._broken = error
            self._wake.set()
        else:
            self._begun = (letter, sending, waits_for)
            self._wake.set()

    async def _finish_begun(self) -> None:
        if self._broken is not None:
            raise self._broken
        if self._begun is not None:
            letter, sending, waits_for = self._begun
            await _resumed(sending, waits_for)
            self._begun = None
            self._taken(letter)

    def _taken(self, letter: Letter) -> None:
        if letter.response is not None:
            self._sent(letter)


@types.coroutine
def _resumed(begun: Sending, waits_for: object) -> Generator[object, object, None]:
    """Go on with a coroutine that was begun by hand, inside the task that awaits this."""
    while True:
        try:
            answer = yield waits_for
            waits_for = begun.send(answer)
        except StopIteration:
            return
