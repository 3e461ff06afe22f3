"""One client with the project's own library, and what its sockets brought, kept as digests.

It talks in real time, ends turns and breaks in. What is kept is what came, before the library passes over
what it has had: so that nothing that came twice stays hidden.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from crc32c import crc32c
from msgspec import Struct, field
from websockets.exceptions import ConnectionClosed

from antiphon.clients.duplex import AudioFormat, DuplexClient, ReconnectPolicy, SessionConfig
from antiphon.clients.duplex.errors import DuplexConnectionError, DuplexProtocolError
from antiphon.clients.duplex.opening import Socket, opener
from bench.campaigns.comers import number
from bench.campaigns.outcome import Violation
from bench.campaigns.serving import public, without_audio

PIECE_S, PIECE_BYTES = 0.08, 3840
RETRY_S = 0.1
HANDSHAKE_S = 5.0
SILENCE_S = 0.2
"""Longer without audio, an echo has been silent: it answers every piece."""
TURN_IN, BREAK_IN = 0.01, 0.005
"""Chances that a turn ends with a piece, and that the user breaks in."""
LOST_EVENTS = ("client.events_dropped", "client.commands_lost", "client.unreadable")


class Came(Struct):
    """What one connection brought that had every frame up to number `after`."""

    after: int = -1
    generation: int = 0
    """0: it was never greeted."""
    frames: list[tuple[int, int]] = field(default_factory=list)
    """Number and digest of each numbered one, in the order in which they came."""

    @property
    def last(self) -> int:
        return self.frames[-1][0] if self.frames else self.after


def digest(frame: dict[str, Any]) -> int:
    """Of what a client was shown: its own secrets apart, and audio by its checksum."""
    return crc32c(msgspec.json.encode(without_audio(public(frame))))


class Tapped:
    """A socket of the library's, watched. Implements its `Socket`."""

    def __init__(self, inner: Socket, caller: Caller) -> None:
        self.inner, self._caller = inner, caller
        self.came = Came()
        caller.connections.append(self.came)

    async def send(self, message: str, /) -> None:
        await self.inner.send(message)

    async def recv(self) -> str | bytes:
        try:
            message = await self.inner.recv()
        except ConnectionClosed:
            self._caller.cut_off()
            raise
        self._note(msgspec.json.decode(message))
        return message

    async def close(self, code: int = 1000, reason: str = "") -> None:
        await self.inner.close(code, reason)

    def reset(self) -> None:
        """End the TCP connection with an RST: whatever is on its way is gone, both ways."""
        transport = self.inner.transport  # type: ignore[attr-defined]  # of websockets, which it is
        beneath = transport.get_extra_info("socket")
        if beneath is not None:  # else it has ended by itself already
            with contextlib.suppress(OSError):
                beneath.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()

    def _note(self, frame: dict[str, Any]) -> None:
        came, kind = self.came, frame["type"]
        if not came.generation and kind in ("session.created", "session.resumed"):
            came.generation = frame.get("attachment_generation") or 1
            came.after = frame.get("as_of_server_event_seq", -1)
        if (numbered := number(frame)) >= 0:
            came.frames.append((numbered, digest(frame)))
        if kind == "response.output_audio.delta":
            self._caller.heard()


class Caller:
    """`talk` until `hang_up`. Times are those of time.monotonic()."""

    def __init__(self, url: str, rng: random.Random) -> None:
        self.connections: list[Came] = []
        self.sent: list[str] = []
        """The ids of whatever it asked, in order."""
        self.losses: list[float] = []
        """When it lost a connection."""
        self.gaps: list[tuple[float, float]] = []
        """From when to when nothing was heard."""
        self.heard_at = 0.0
        self._is_cut_off = False
        self._pieces = self._wanted = 0
        self._enough = asyncio.Event()
        self.refused: list[str] = []
        """Codes of errors that it was told."""
        self._rng, self._pcm = rng, rng.randbytes(PIECE_BYTES)
        self._open = opener(api_key=None, tls=None, timeout_s=HANDSHAKE_S)
        self._socket: Tapped | None = None
        self.client = DuplexClient(
            url,
            config=SessionConfig(input_audio=AudioFormat("pcm16", 24_000)),
            reconnect=ReconnectPolicy(max_attempts=10_000, backoff_s=(RETRY_S, RETRY_S)),
            handshake_timeout_s=HANDSHAKE_S,
            connect=self._connect,
        )
        self._tasks: list[asyncio.Task[None]] = []
        self._over = asyncio.Event()

    async def _connect(self, url: str) -> Socket:
        self._socket = Tapped(await self._open(url), self)
        return self._socket

    async def begin(self) -> None:
        """Open the session and talk from now on. Raises DuplexClientError."""
        await self.client.connect()
        self.heard_at = time.monotonic()
        work: list[Callable[[], Awaitable[None]]] = [self._talk, self._listen, self._take_answers]
        self._tasks = [asyncio.ensure_future(one()) for one in work]

    @property
    def session(self) -> str:
        return self.client.session_id or ""

    @property
    def failure(self) -> BaseException | None:
        """What ended it before its time."""
        ended = (one for one in self._tasks if one.done() and not one.cancelled())
        return next((error for one in ended if (error := one.exception()) is not None), None)

    async def hears_more(self, pieces: int) -> None:
        """Until so many more pieces of audio have come, on whatever connection."""
        self._wanted = self._pieces + pieces
        self._enough.clear()
        await self._enough.wait()

    def heard(self) -> None:
        self._pieces += 1
        if self._pieces >= self._wanted:
            self._enough.set()
        now = time.monotonic()
        if self._is_cut_off or now - self.heard_at > SILENCE_S:
            self.gaps.append((self.heard_at, now))
        self.heard_at, self._is_cut_off = now, False

    def cut_off(self) -> None:
        """A connection is gone."""
        self.losses.append(time.monotonic())
        self._is_cut_off = True

    def reset(self) -> None:
        if self._socket is not None:
            self._socket.reset()

    async def hang_up(self) -> None:
        """End the session as a client should, and read to its end. Raises DuplexClientError."""
        self._over.set()
        await self._tasks[0]
        await self.client.close(timeout_s=300.0)
        await asyncio.gather(*self._tasks)

    async def _talk(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + self._rng.uniform(0, PIECE_S)
        while not self._over.is_set():
            await asyncio.sleep(max(due - loop.time(), 0))
            due = max(due, loop.time() - 1.0) + PIECE_S
            self.sent.append(await self.client.append_audio(self._pcm))
            if (drawn := self._rng.random()) < TURN_IN:
                self.sent.append(await self.client.commit())
            elif drawn < TURN_IN + BREAK_IN:
                self.sent.append(await self.client.send({"type": "barge_in"}))

    async def _listen(self) -> None:
        async for event in self.client.events():
            if event.type in LOST_EVENTS:
                raise Violation("lost", f"{event.type}: {event.raw}")

    async def _take_answers(self) -> None:
        """Answers that nobody takes pile up."""
        while True:
            try:
                async for answer in self.client.responses():
                    await self._drain(answer)
                return
            except DuplexProtocolError as error:
                self.refused.append(error.code)

    async def _drain(self, answer: Any) -> None:
        with contextlib.suppress(ConnectionClosed, DuplexConnectionError):
            async for _ in answer.audio("never"):
                pass
