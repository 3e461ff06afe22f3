"""Many speakers at once: each sends a frame of 80 ms every 80 ms, and times what comes back.

Open loop: a frame is due at its time whether or not earlier ones have come back, and its latency counts from
then, so a server (or this program) that falls behind cannot hide it; up to 1 ms of it is this program's own
timer. Speakers begin at random phases. The n-th answer belongs to the n-th frame: an echo answers each.
"""

from __future__ import annotations

import asyncio
import base64
import json
import math
import random
import time
from collections import deque
from collections.abc import Callable

from msgspec import Struct
from picows import WSCloseCode, WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

FRAME_S = 0.08
FRAME_BYTES = 3840
SETTLE_S = 1.0
"""Speaking before anything counts; and at the end, how long a frame may take to come back."""
CONNECTING_AT_ONCE = 10

APPEND = json.dumps(
    {
        "type": "input_audio_buffer.append",
        "audio": base64.b64encode(random.Random(0).randbytes(FRAME_BYTES)).decode(),
    }
).encode()
NO_TURNS = json.dumps(
    {"type": "session.update", "session": {"type": "realtime", "audio": {"input": {"turn_detection": None}}}}
).encode()
AUDIO, CREATED, UPDATED = (b'"response.output_audio.delta"', b'"session.created"', b'"session.updated"')
HEAD = 64
"""Bytes of a frame within which its type stands."""


class Heard(Struct, frozen=True):
    """What came back of the frames that were due in the measured window."""

    sent: int
    lost: int
    """Connections that did not last."""
    latencies: list[float]
    """Seconds from due to received, sorted."""


class Speaker(WSListener):
    """One connection. `bare` servers send every frame back; ours is told first not to detect turns."""

    def __init__(self, *, bare: bool) -> None:
        self._bare = bare
        self._waiting: deque[float] = deque()
        self.sent: list[float] = []
        self.received: list[tuple[float, float]] = []
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.lost = False
        self._speaking: asyncio.TimerHandle | None = None
        self.transport: WSTransport

    def on_ws_connected(self, transport: WSTransport) -> None:
        self.transport = transport
        if self._bare:
            self.ready.set_result(None)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        now = time.monotonic()
        if frame.msg_type != WSMsgType.TEXT:
            return
        head = bytes(frame.get_payload_as_memoryview()[:HEAD])
        if self._bare or AUDIO in head:
            if self._waiting:
                self.received.append((self._waiting.popleft(), now))
        elif CREATED in head:
            transport.send(WSMsgType.TEXT, NO_TURNS)
        elif UPDATED in head and not self.ready.done():
            self.ready.set_result(None)

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self.lost = True
        self.stop()
        if not self.ready.done():
            self.ready.set_exception(ConnectionError("refused"))

    def speak(self, due: float) -> None:
        """Send the frame that is due then, and the others each in its time."""
        delay = math.ceil(max(due - time.monotonic(), 0) * 1000) / 1000  # never before it is due
        self._speaking = asyncio.get_running_loop().call_later(delay, self._send, due)

    def _send(self, due: float) -> None:
        self._waiting.append(due)
        self.sent.append(due)
        self.transport.send(WSMsgType.TEXT, APPEND)
        self.speak(due + FRAME_S)

    def stop(self) -> None:
        if self._speaking is not None:
            self._speaking.cancel()


async def crowd(url: str, size: int, seconds: float, *, bare: bool, mark: Callable[[], None]) -> Heard:
    """Let `size` speakers talk for `seconds`. `mark` is called as the measured window begins and ends."""
    speakers = [Speaker(bare=bare) for _ in range(size)]
    gate = asyncio.Semaphore(CONNECTING_AT_ONCE)

    async def join(speaker: Speaker) -> None:
        async with gate:
            await ws_connect(lambda: speaker, url, websocket_handshake_timeout=20)
            await asyncio.wait_for(speaker.ready, 20)

    await asyncio.gather(*(join(speaker) for speaker in speakers))
    start, phase = time.monotonic() + FRAME_S, random.Random(size)
    for speaker in speakers:
        speaker.speak(start + phase.uniform(0, FRAME_S))
    await asyncio.sleep(SETTLE_S)
    begin = time.monotonic()
    mark()
    await asyncio.sleep(seconds)
    mark()
    end = time.monotonic()
    for speaker in speakers:
        speaker.stop()
    await asyncio.sleep(SETTLE_S)
    lost = sum(speaker.lost for speaker in speakers)
    for speaker in speakers:
        speaker.transport.send_close(WSCloseCode.OK)
        speaker.transport.disconnect()
    return Heard(
        sent=sum(begin <= due < end for speaker in speakers for due in speaker.sent),
        lost=lost,
        latencies=sorted(
            now - due for speaker in speakers for due, now in speaker.received if begin <= due < end
        ),
    )
