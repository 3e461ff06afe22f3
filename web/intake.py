"""A client's frames in their order of arrival, while one of them takes long to read.

A large frame is read in a thread and holds its place. What comes meanwhile waits behind it, but for frames in
a hurry (a cancel, a close), which wait for nobody. Audio behind the last frame that is not audio is thrown
away by what voids it (a clear, a barge-in), the one being read included. An answer that begins with a frame
which a cancel has overtaken is cancelled as soon as it begins, before anything of it can be said. So the
session is asked the same as if reading took no time, only later; what is in a hurry alone may be earlier.

What one large frame amounts to is asked in portions, and between them the loop has other turns.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import structlog
from msgspec.structs import replace

from antiphon.actors.session import commands as c

from .realtime.undecodable import Undecodable
from .wishes import Decoder, Wish, counted

log = structlog.get_logger(__name__)

T = TypeVar("T")

INLINE = 90 * 1024
"""Characters of a frame that is read at once: 64 KiB of audio in base64, and the members around it."""
MOST_WAITING = 16 * 1024 * 1024
"""Characters that may wait."""
PORTION = 8

READERS = ThreadPoolExecutor(2, thread_name_prefix="frames")
"""Threads for large frames, of all connections: reading one holds the interpreter half of the time."""


async def read_aside(text: str, read: Callable[[str], T]) -> T:
    """What a frame amounts to that nothing waits behind; a large one is read in a thread."""
    if len(text) <= INLINE:
        return read(text)
    return await asyncio.get_running_loop().run_in_executor(READERS, read, text)


class Place:
    """A frame that waits, or the text to read it from.

    `void`: it counts no more, should it be audio. `stopped`: no answer is to begin with it.
    """

    __slots__ = ("frame", "size", "stopped", "text", "void")

    def __init__(self, text: str, frame: Any, size: int) -> None:
        self.text, self.frame, self.size = text, frame, size
        self.void = self.stopped = False


class Intake:
    """One connection's. Everything but the reading of large frames is on the loop's thread.

    `ask` does what a frame asks for, `bad` tells the client of one that cannot be read, `broken` is called
    when reading failed for a reason of our own. `drops`: when too much waits, the client is told so;
    otherwise the reading of its socket is held. Frames of at most `inline` characters are read at once.
    """

    def __init__(
        self,
        decoder: Decoder,
        ask: Callable[[Wish], None],
        bad: Callable[[Undecodable], None],
        broken: Callable[[], None],
        *,
        drops: bool,
        inline: int = INLINE,
    ) -> None:
        self._decoder, self._drops, self._inline = decoder, drops, inline
        self._ask, self._bad, self._broken = ask, bad, broken
        self.places: deque[Place] = deque()
        """What waits, or is being read. Only looked at from outside."""
        self._size = 0
        self._moving: asyncio.Task[None] | None = None

    @property
    def is_full(self) -> bool:
        """Whether to read no further from the socket."""
        return self._size > MOST_WAITING and not self._drops

    def take(self, text: str) -> None:
        """A frame that is large, or that comes behind one."""
        if self._drops and self._size + len(text) > MOST_WAITING:
            self._bad(Undecodable("input_backpressure", "too much waits to be read: this was not taken"))
        elif len(text) > self._inline:
            self._enter(Place(text, None, len(text)))
        else:
            try:
                self._take_small(self._decoder.parse(text), len(text))
            except Undecodable as bad:
                self._bad(bad)

    def take_bytes(self, data: bytes) -> None:
        """A binary frame. It is what it is, and always read in a thread: compressed sound takes a while."""
        if self._drops and self._size + len(data) > MOST_WAITING:
            self._bad(Undecodable("input_backpressure", "too much waits to be read: this was not taken"))
        else:
            self._enter(Place("", data, len(data)))

    def _take_small(self, frame: Any, size: int) -> None:
        kind, decoder = type(frame), self._decoder
        hurries = kind in decoder.hurried
        if kind in decoder.voiding:
            hurries = self._void() or hurries
        if hurries:
            for wish in decoder.at_once(frame):
                self._ask(self._stop(wish) if _stops(wish) else wish)
        else:
            self._enter(Place("", frame, size))

    def _void(self) -> bool:
        """Throw away the audio that nothing has made use of. Says whether nothing but that was waiting.

        What is still to be parsed is taken for audio; if it is something else it counts all the same.
        """
        for place in reversed(self.places):
            if place.frame is not None and type(place.frame) not in self._decoder.audio:
                return False
            place.void = True
        return True

    def _stop(self, wish: Wish) -> Wish:
        """Stop what frames that wait would begin. Where one would, that nothing is said yet is no mistake."""
        begins = False
        for place in self.places:
            place.stopped = True
            begins = begins or (place.frame is not None and self._decoder.begins(place.frame))
        return replace(wish, if_any=True) if begins and isinstance(wish, c.CancelResponse) else wish

    def _is_void(self, place: Place) -> bool:
        return place.void and type(place.frame) in self._decoder.audio

    def _enter(self, place: Place) -> None:
        self.places.append(place)
        self._size += place.size
        if self._moving is None:
            self._moving = asyncio.create_task(self._move())
            self._moving.add_done_callback(self._moved)

    async def _move(self) -> None:
        """Read and ask, place by place, until none is left."""
        while self.places:
            place = self.places[0]
            try:
                await self._ask_all(place, await self._read(place))
            except Undecodable as bad:
                self._bad(bad)
            self.places.popleft()
            self._size -= place.size
        self._moving = None

    def _moved(self, moving: asyncio.Task[None]) -> None:
        if not moving.cancelled() and (error := moving.exception()) is not None:
            log.error("intake.failed", exc_info=error)
            self._broken()

    async def _read(self, place: Place) -> list[Wish]:
        loop, wishes = asyncio.get_running_loop(), self._decoder.wishes
        if place.frame is None:
            return await loop.run_in_executor(READERS, self._read_large, place)
        if type(place.frame) is bytes:
            return await loop.run_in_executor(READERS, wishes, place.frame)
        return [] if self._is_void(place) else wishes(place.frame)

    def _read_large(self, place: Place) -> list[Wish]:
        """In a thread, and nothing else uses the decoder's state meanwhile."""
        text, place.text = place.text, ""
        place.frame = self._decoder.parse(text)
        return self._decoder.wishes(place.frame)

    async def _ask_all(self, place: Place, wishes: list[Wish]) -> None:
        wishes = counted(wishes)
        for start in range(0, len(wishes), PORTION):
            if start:
                await asyncio.sleep(0)
            if self._is_void(place):
                break
            for wish in wishes[start : start + PORTION]:
                self._ask(wish)
        if self._is_void(place):
            self._decoder.forget()
        if place.stopped and self._decoder.begins(place.frame):
            self._ask(c.CancelResponse(if_any=True))

    async def settled(self) -> None:
        """Wait until nothing waits."""
        if self._moving is not None:
            await asyncio.wait({self._moving})

    def end(self) -> None:
        """Nothing is asked from here on."""
        if self._moving is not None:
            self._moving.cancel()


def _stops(wish: Wish) -> bool:
    """Whether it stops any answer, whatever that is called."""
    if isinstance(wish, c.CancelResponse | c.ClearOutput):
        return wish.response is None
    return isinstance(wish, c.BargeIn | c.CancelInput)
