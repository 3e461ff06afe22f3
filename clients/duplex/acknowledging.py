"""Tells the server what was played, while it plays."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from .errors import DuplexClientError, DuplexOverflowError
from .playback import PlaybackClock, Plays, Speaker
from .response import ResponseHandle

EVERY_S = 0.25

Acknowledge = Callable[[int, str], Awaitable[None]]
"""Called with how many ms were played, and of which response."""


class Acknowledging:
    """One loudspeaker, and what is told of it. An answer that stays where it is is told once."""

    def __init__(self, acknowledge: Acknowledge, clock: Callable[[], float] = time.monotonic) -> None:
        self._acknowledge = acknowledge
        self._speaker = Speaker(clock)
        self._playing: dict[str, tuple[ResponseHandle, int]] = {}
        """By response: how much was told of it."""
        self._task: asyncio.Task[None] | None = None

    def speak_on(self, handle: ResponseHandle, plays: Plays) -> PlaybackClock:
        """The clock of an answer whose audio is being taken from now on."""
        if plays != "never" and handle.response_id is not None:
            self._playing[handle.response_id] = (handle, 0)
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._run())
        return PlaybackClock(self._speaker, plays)

    async def tell(self) -> None:
        """Say how far everything is that has moved. Raises what sending raises."""
        for response_id, (handle, told_ms) in list(self._playing.items()):
            played_ms, over = handle.played_ms, not handle.may_sound
            if played_ms > told_ms:
                self._playing[response_id] = (handle, played_ms)
                await self._acknowledge(played_ms, response_id)
            if over:
                self._playing.pop(response_id, None)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        with contextlib.suppress(DuplexClientError):  # the session is over: whoever uses it is told
            while self._playing:
                await asyncio.sleep(EVERY_S)
                with contextlib.suppress(DuplexOverflowError):  # no room now; the next says as much and more
                    await self.tell()
