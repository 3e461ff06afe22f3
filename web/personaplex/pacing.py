"""Sound at the pace at which it is heard.

A client plays what comes and has little room for more: a browser keeps a tenth of a second and throws the
rest away. So a frame leaves when its time has come, or up to EARLY_S before that, so that a model which was a
little late once is not late ever after. Where another waits behind it, that follows a little faster (HURRY),
until none does. Of more than MOST_FRAMES the oldest are dropped, before they are encoded: the stream has no
gap in it that a decoder would notice. Who is told nothing for QUIET_S is sent a sign of life.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import replace

from antiphon.events.units import BYTES_PER_SAMPLE, SAMPLE_RATE
from antiphon.media.opus import OpusWriter
from antiphon.projections.personaplex.wires import AUDIO, PING
from antiphon.web.outbox import Farewell, Letter, Outbox

EARLY_S = 0.02
HURRY = 0.9
MOST_FRAMES = 50
QUIET_S = 4.0
"""Browsers give up after ten seconds without any message."""

ENCODERS = ThreadPoolExecutor(2, thread_name_prefix="opus")
"""Of all connections; each has at most one frame with them."""


class Cadence:
    """When the next piece may leave, on a clock in seconds that never goes back."""

    __slots__ = ("_due_s",)

    def __init__(self) -> None:
        self._due_s = 0.0

    def wait_s(self, now: float) -> float:
        return max(self._due_s - EARLY_S - now, 0.0)

    def left(self, now: float, lasts_s: float, waiting: int) -> None:
        """A piece left, and so many are behind it."""
        self._due_s = max(self._due_s, now) + lasts_s * (HURRY if waiting else 1.0)


class PacedOutbox(Outbox):
    """An Outbox before which sound waits for its time, as PCM, and everything behind it in its order."""

    def __init__(
        self,
        sent: Callable[[Letter], None],
        withheld: Callable[[Sequence[Letter]], None],
        most_bytes: int,
    ) -> None:
        super().__init__(sent, most_bytes)
        self._withheld = withheld
        self._held: deque[Letter | Farewell] = deque()
        self._more = asyncio.Event()
        self._cadence = Cadence()
        self._writer: OpusWriter | None = None
        self._begun = self._ends = False

    def put(self, letter: Letter) -> None:
        if self.closing or self._ends:
            return
        self._held.append(letter)
        if letter.response is not None and self._frames > MOST_FRAMES:
            oldest = next(one for one in self._held if isinstance(one, Letter) and one.response is not None)
            self._held.remove(oldest)
            self._withheld([oldest])
        self._more.set()

    @property
    def _frames(self) -> int:
        return sum(isinstance(one, Letter) and one.response is not None for one in self._held)

    def close(self, code: int, reason: str) -> None:
        """Say farewell after everything that waits, at its pace."""
        if not self._ends:
            self._ends = True
            self._held.append(Farewell(code, reason))
            self._more.set()

    def take_back_audio(self) -> list[Letter]:
        dropped = [one for one in self._held if isinstance(one, Letter) and one.response is not None]
        kept = [one for one in self._held if isinstance(one, Farewell) or one.response is None]
        self._held = deque(kept)
        return [*super().take_back_audio(), *dropped]

    def abandon(self) -> None:
        self._held.clear()
        super().abandon()

    async def run(
        self,
        send: Callable[[bytes, bool], Awaitable[None]],
        close: Callable[[int, str], Awaitable[None]],
    ) -> None:
        sides = {asyncio.create_task(super().run(send, close)), asyncio.create_task(self._play())}
        try:
            done, _ = await asyncio.wait(sides, return_when=asyncio.FIRST_EXCEPTION)
            for side in done:
                side.result()
        finally:
            for side in sides:
                side.cancel()
            await asyncio.gather(*sides, return_exceptions=True)

    async def _play(self) -> None:
        """Until the farewell is on its way."""
        while True:
            while self._held:
                first = self._held[0]
                if isinstance(first, Farewell):
                    super().close(first.code, first.reason)
                    return
                if first.response is None:
                    self._held.popleft()
                    self._pass_on(first)
                else:
                    await self._speak(first)
            self._more.clear()
            try:
                await asyncio.wait_for(self._more.wait(), QUIET_S)
            except TimeoutError:
                if self._begun:
                    self._pass_on(Letter(bytes((PING,)), binary=True))

    async def _speak(self, first: Letter) -> None:
        """Pass a frame of sound on when its time has come, unless it has been taken back by then."""
        loop = asyncio.get_running_loop()
        await self.below(0)
        await asyncio.sleep(self._cadence.wait_s(loop.time()))
        if not self._held or self._held[0] is not first:
            return
        self._held.popleft()
        pcm = first.payload[1:]
        self._cadence.left(loop.time(), len(pcm) / BYTES_PER_SAMPLE / SAMPLE_RATE, self._frames)
        pages = await loop.run_in_executor(ENCODERS, self._encode, pcm)
        self._pass_on(replace(first, payload=bytes((AUDIO,)) + pages))

    def _encode(self, pcm: bytes) -> bytes:
        """In a thread, one frame at a time. A stream begins with its first sound."""
        self._writer = self._writer or OpusWriter()
        return self._writer.append(pcm)

    def _pass_on(self, letter: Letter) -> None:
        self._begun = self._begun or letter.number >= 0
        super().put(letter)
