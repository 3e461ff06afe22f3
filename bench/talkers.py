"""Speakers of every dialect for the load generator: each sends 80 ms of audio every 80 ms.

Steady ones are timed as in crowd.py: the n-th answer belongs to the n-th frame. Restless ones are not: they
break in, and lose their connection and begin anew, as often as `Restless` says.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import time
from array import array

from msgspec import Struct
from picows import WSError, WSFrame, WSMsgType, WSTransport, ws_connect

from bench.crowd import APPEND, FRAME_S, HEAD, NO_TURNS, Speaker

BREAK_IN_EVERY_S, DROP_EVERY_S = 5.0, 20.0
HANDSHAKE_S = 20.0


class Dialect(Struct, frozen=True):
    """How its clients begin and what they look for. Frames are JSON text."""

    name: str
    path: str
    first: bytes
    """What opens the session, or is said once it is open."""
    opens: bool
    """Whether `first` is what opens it: else the server speaks first."""
    ready: bytes
    """In the head of the frame after which audio may be sent."""
    audio: bytes
    """In the head of every frame of audio."""
    breaks_in: bytes


def _frame(**members: object) -> bytes:
    return json.dumps(members).encode()


_PCM = {"input_audio_format": "pcm16", "sample_rate_hz": 24_000}
DIALECTS = (
    Dialect(
        name="realtime",
        path="/v1/realtime",
        first=NO_TURNS,
        opens=False,
        ready=b'"session.updated"',
        audio=b'"response.output_audio.delta"',
        breaks_in=_frame(type="response.cancel"),
    ),
    Dialect(
        name="duplex",
        path="/v1/realtime?duplex=1&autostart=0",
        first=_frame(type="session.update", session=_PCM),
        opens=True,
        ready=b'"session.created"',
        audio=b'"response.output_audio.delta"',
        breaks_in=_frame(type="barge_in"),
    ),
    Dialect(
        name="native",
        path="/v1/duplex",
        first=_frame(type="session.create", session=_PCM),
        opens=True,
        ready=b'"session.created"',
        audio=b'"response.output_audio.delta"',
        breaks_in=_frame(type="barge_in"),
    ),
)


class Talker(Speaker):
    """A steady one: `Speaker` of any dialect."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(bare=False)
        self.dialect = dialect
        self.counts_from = math.inf
        """Frames that are due from then on count: how many there were, and how late their echo was."""
        self.due_count, self.late = 0, array("f")

    async def connect(self, url: str) -> None:
        """Until audio may be sent. Raises OSError, TimeoutError, WSError."""
        await ws_connect(lambda: self, url, websocket_handshake_timeout=HANDSHAKE_S)
        await asyncio.wait_for(self.ready, HANDSHAKE_S)

    def on_ws_connected(self, transport: WSTransport) -> None:
        self.transport = transport
        if self.dialect.opens:
            transport.send(WSMsgType.TEXT, self.dialect.first)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type != WSMsgType.TEXT:
            return
        head = bytes(frame.get_payload_as_memoryview()[:HEAD])
        if self.dialect.audio in head:
            self._answered()
        elif self.dialect.ready in head:
            if not self.ready.done():
                self.ready.set_result(None)
        elif b'"session.created"' in head:
            transport.send(WSMsgType.TEXT, self.dialect.first)

    def _answered(self) -> None:
        if self._waiting and (due := self._waiting.popleft()) >= self.counts_from:
            self.late.append(time.monotonic() - due)

    def _send(self, due: float) -> None:
        self._waiting.append(due)
        self.due_count += due >= self.counts_from
        self.transport.send(WSMsgType.TEXT, APPEND)
        self.speak(due + FRAME_S)


class Restless:
    """One that talks, breaks in, drops its connection without a word, and comes with a new session."""

    def __init__(self, url: str, dialect: Dialect, rng: random.Random) -> None:
        self._url, self._dialect, self._rng = url, dialect, rng
        self.barge_ins = self.drops = self.refused = 0

    async def live(self) -> None:
        """Until cancelled."""
        while True:
            talker = Talker(self._dialect)
            try:
                await talker.connect(self._url)
                await self._talk(talker, self._rng.expovariate(1 / DROP_EVERY_S))
                self.drops += 1
            except (OSError, TimeoutError, WSError):
                self.refused += 1
                await asyncio.sleep(1.0)
            finally:
                if hasattr(talker, "transport"):
                    talker.transport.disconnect(graceful=False)

    async def _talk(self, talker: Talker, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        until, due = loop.time() + seconds, loop.time()
        while loop.time() < until and not talker.lost:
            said = APPEND
            if self._rng.random() < FRAME_S / BREAK_IN_EVERY_S:
                self.barge_ins += 1
                said = self._dialect.breaks_in
            talker.transport.send(WSMsgType.TEXT, said)
            due += FRAME_S
            await asyncio.sleep(max(due - loop.time(), 0))
