"""A microphone that is always on: it sends speech in real time, and silence while nobody speaks.

A server that detects turns by itself needs the silence: without it the last word never ends. A frame leaves
when its last sample has been spoken, as with a real microphone, so a sample waits up to one frame.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from .exchange import BYTES_PER_SECOND

FRAME_MS = 40


@dataclass(frozen=True, slots=True)
class Phrase:
    """When the first and the last sample of something said are spoken, in `time.monotonic()` seconds."""

    begun: float
    ended: float


class Microphone:
    """`send` is awaited with each frame of PCM: 24 kHz, mono, signed 16 bit, little-endian."""

    def __init__(
        self,
        send: Callable[[bytes], Awaitable[None]],
        *,
        frame_ms: int = FRAME_MS,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if not 20 <= frame_ms <= 200:
            raise ValueError(f"a frame is 20 to 200 ms long, not {frame_ms}")
        self._send, self._clock, self._sleep = send, clock, sleep
        self._frame = BYTES_PER_SECOND * frame_ms // 1000
        self._waiting = bytearray()
        self._sent = 0
        self._on_since = clock()

    def say(self, pcm: bytes) -> Phrase:
        """Speak next, after whatever is already waiting. Returns at once."""
        begun = self._spoken_at(self._sent + len(self._waiting))
        self._waiting += pcm
        return Phrase(begun, begun + len(pcm) / BYTES_PER_SECOND)

    async def run(self) -> None:
        """Send for ever. A frame that is late is followed by the next at once: no sample is ever dropped."""
        while True:
            due = self._spoken_at(self._sent + self._frame)
            await self._sleep(max(due - self._clock(), 0))
            frame = bytes(self._waiting[: self._frame])
            del self._waiting[: self._frame]
            self._sent += self._frame
            await self._send(frame.ljust(self._frame, b"\0"))

    def _spoken_at(self, position: int) -> float:
        return self._on_since + position / BYTES_PER_SECOND
