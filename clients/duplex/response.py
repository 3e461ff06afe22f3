"""One answer, as it comes in."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Literal

from . import events as e
from .audio import SAMPLE_BYTES, AudioFormat
from .errors import DuplexClientError, DuplexOverflowError
from .playback import PlaybackClock, Plays

MOST_AUDIO_BYTES = 64 * 1024 * 1024
"""Of one answer that nobody takes: more than twenty minutes of pcm16 at 24 kHz."""


class ResponseHandle:
    """An answer, or the model's decision to listen instead.

    It is announced by `responses()` with its first output, or with its end. Its audio is kept until it is
    taken, up to MOST_AUDIO_BYTES; what is beyond raises DuplexOverflowError behind what is kept.
    """

    def __init__(self, response_id: str | None, speak_on: Callable[[ResponseHandle, Plays], PlaybackClock]):
        self.response_id = response_id
        self.decision: Literal["speak", "listen"] = "listen"
        """`speak` once there is any output; never taken back."""
        self.transcript = ""
        """What it says, as far as it is known."""
        self.text = ""
        """What it writes, of an answer in text."""
        self.function_calls: list[e.FunctionCall] = []
        self.created_event: e.ResponseCreated | None = None
        self.done_event: e.ResponseDone | None = None
        self.listen_event: e.ResponseListen | None = None
        self.finished = False
        """The server has said all of it. It may still be playing."""
        self.audio_ms = 0.0
        """How much audio has come."""
        self.discarded_ms = 0.0
        """How much of that was thrown away because the answer was interrupted before it was taken."""
        self._pieces = deque[tuple[bytes, float]]()
        self._kept_bytes = self._lost_bytes = 0
        self._taken_ms = 0.0
        self._cut = False
        self._clock: PlaybackClock | None = None
        self._speak_on = speak_on
        self._news = asyncio.Event()
        self._error: DuplexClientError | None = None

    @property
    def status(self) -> str | None:
        """completed, cancelled, incomplete or failed; None while it is not done."""
        return None if self.done_event is None else self.done_event.status

    @property
    def played_ms(self) -> int:
        """How much of it was played, by the clock that `audio()` keeps."""
        return 0 if self._clock is None else int(self._clock.played_ms)

    @property
    def interrupted(self) -> bool:
        """Nothing more of it is to be played."""
        return self._cut

    @property
    def may_sound(self) -> bool:
        """There is, or may still come, something of it to play."""
        sounding = self._clock is not None and self._clock.sounding
        return not self._cut and (not self.finished or bool(self._pieces) or sounding)

    async def wait(self) -> ResponseHandle:
        """Until the server has said all of it. Raises what the session ended with, if that comes first."""
        while not self.finished:
            if self._error is not None:
                raise self._error
            self._news.clear()
            await self._news.wait()
        return self

    async def wait_played(self) -> ResponseHandle:
        """Until it has been played, to its end or to where it was interrupted, by whoever takes its audio.

        Raises what the session ended with, if that comes before the answer does.
        """
        while self.may_sound:
            if self._error is not None:
                raise self._error
            left_s = self._clock.left_s if self._clock is not None and self.finished else 0.0
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), left_s or None)
        return self

    async def audio(self, plays: Plays = "in_real_time") -> AsyncIterator[bytes]:
        """Its audio, piece by piece, to its end or until it is interrupted.

        Each piece is given to a player when it is taken; how it becomes *played*, which is what is
        acknowledged to the server and what the history then holds, `plays` says. Take pieces as soon as they
        come, and have the player throw away what it holds when this ends with `interrupted`.
        """
        self._clock = self._clock or self._speak_on(self, plays)
        while True:
            while not self._pieces:
                if self._lost_bytes and not self._cut:
                    message = f"{self._lost_bytes} bytes of audio came while nobody took any"
                    raise DuplexOverflowError("audio", message, lost_bytes=self._lost_bytes)
                if self.finished or self._cut:
                    return
                if self._error is not None:
                    raise self._error
                self._news.clear()
                await self._news.wait()
            piece, self._taken_ms = self._pieces.popleft()
            self._kept_bytes -= len(piece)
            self._clock.give(self._taken_ms)
            self._news.set()
            yield piece

    # --- filled by the client -----------------------------------------------------------------------------

    def heard(self, event: e.AudioDelta) -> None:
        self.decision = "speak"
        if self._cut:
            return
        until_ms = event.metadata.audio_duration_ms
        self.audio_ms = self.audio_ms + _length_ms(event) if until_ms is None else float(until_ms)
        if self._lost_bytes or self._kept_bytes + len(event.delta) > MOST_AUDIO_BYTES:
            self._lost_bytes += len(event.delta)
        else:
            self._pieces.append((event.delta, self.audio_ms))
            self._kept_bytes += len(event.delta)
        self._news.set()

    def cut(self) -> None:
        """Nothing more of it is played; what was not taken is let go."""
        if self._cut:
            return
        self._cut = True
        self.discarded_ms = self.audio_ms - self._taken_ms
        self.let_go()
        if self._clock is not None:
            self._clock.stop()
        self._news.set()

    def let_go(self) -> None:
        self._pieces.clear()
        self._kept_bytes = 0

    def finish(self, done: e.ResponseDone | None) -> None:
        self.done_event, self.finished = done, True
        if done is not None and done.status == "cancelled":
            self.cut()
        self._news.set()

    def fail(self, error: DuplexClientError) -> None:
        self._error = error
        self._news.set()


def _length_ms(event: e.AudioDelta) -> float:
    """Of a delta that does not say where it ends."""
    if event.format not in SAMPLE_BYTES or event.sample_rate_hz is None:
        return 0.0
    return AudioFormat(event.format, event.sample_rate_hz).duration_ms(event.delta)
