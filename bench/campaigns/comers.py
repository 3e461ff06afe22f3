"""Clients that keep losing their connection, and come back or move to another one, as clients should.

Each keeps whatever it received, connection by connection, and sends again what the session had not taken in.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import random
import re
from collections import Counter
from typing import Any

import msgspec
from msgspec import Struct, field
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from .outcome import Violation

Frame = dict[str, Any]

PIECE_S, PIECE_BYTES = 0.04, 1920
"""Of the client's audio: 24 kHz."""
MOST_WAIT_S = 20.0
"""For whatever a client waits for: longer is a hang."""
HOWS = ("cut", "cut, later back", "cut while it does not read", "taken over", "cut on its way back")
_NUMBER = re.compile(r"event_(\d+)")


class Connection(Struct):
    """What came on one connection that had every frame up to number `after`."""

    after: int
    generation: int = 0
    """0: it was never greeted."""
    frames: list[Frame] = field(default_factory=list)
    """The numbered ones, in the order in which they came."""
    code: int | None = None
    reason: str = ""
    audio: int = 0
    """Frames of audio among them."""

    @property
    def last(self) -> int:
        return number(self.frames[-1]) if self.frames else self.after


def number(frame: Frame) -> int:
    """`server_event_seq`, in whatever dialect; -1: a reply."""
    found = _NUMBER.fullmatch(frame["event_id"])
    return -1 if found is None else int(found[1])


class Comer:
    """One client: of the duplex dialect, which numbers what it sends, or a plain one."""

    def __init__(self, url: str, rng: random.Random, *, plain: bool) -> None:
        self._url, self._rng, self.plain = url, rng, plain
        self.session = self._token = ""
        self.connections: list[Connection] = []
        self.sent: list[tuple[str, bytes]] = []
        """Every frame, by its id, in order; also what was sent while nobody listened."""
        self.cleared: set[str] = set()
        """Of those, the audio before each barge-in: it may be too little to be a fact, and is cleared."""
        self.how: Counter[str] = Counter()
        self.sent_again = 0
        self._audio = base64.b64encode(rng.randbytes(PIECE_BYTES)).decode()
        self._reading: asyncio.Task[None]
        self._socket: ClientConnection
        self._greeting: asyncio.Future[Frame]
        self._reads = asyncio.Event()
        self._reads.set()
        self._ended = asyncio.Event()

    async def live(self, drops: int) -> None:
        """Raises Violation where the server does not do what it should; TimeoutError where it hangs."""
        async with asyncio.timeout(MOST_WAIT_S):
            await self._begin()
        for _ in range(drops):
            async with asyncio.timeout(MOST_WAIT_S):
                await self._talk(self._rng.uniform(0.05, 1.2))
                how = self._rng.choice(HOWS)
                self.how[how] += 1
                await self._move(how)
        async with asyncio.timeout(MOST_WAIT_S):
            await self._talk(0.3)
            await self._end()

    # --- talking ------------------------------------------------------------------------------------------

    async def _begin(self) -> None:
        greeting = await self._connect("" if self.plain else "?duplex=1&autostart=0", -1, self._configure)
        self.session = greeting["session"]["id"]
        if self.plain:
            await self._configure()

    async def _configure(self) -> None:
        quiet: Frame = {"type": "realtime", "audio": {"input": {"turn_detection": None}}}
        loud = {"input_audio_format": "pcm16", "sample_rate_hz": 24_000}
        await self._write({"type": "session.update", "session": quiet if self.plain else loud})

    async def _talk(self, seconds: float) -> None:
        """Audio all the time, and now and then something else."""
        until = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < until:
            await self._say(self._next())
            await asyncio.sleep(PIECE_S)

    def _next(self) -> Frame:
        if (drawn := self._rng.random()) < 0.02:
            return {"type": "input_audio_buffer.commit"}
        if drawn < 0.04:
            return {"type": "response.cancel" if self.plain else "barge_in"}
        return {"type": "input_audio_buffer.append", "audio": self._audio}

    async def _say(self, frame: Frame) -> None:
        """Send it, and remember it: it may not arrive."""
        if not self.plain:
            if frame["type"] == "barge_in" and self.sent:
                self.cleared.add(self.sent[-1][0])
            frame["event_id"] = f"evt_{len(self.sent)}"
            self.sent.append((frame["event_id"], msgspec.json.encode(frame)))
        await self._write(frame)

    async def _write(self, frame: Frame) -> None:
        with contextlib.suppress(ConnectionClosed):
            await self._socket.send(msgspec.json.encode(frame), text=True)

    # --- coming and going ---------------------------------------------------------------------------------

    async def _move(self, how: str) -> None:
        """Lose the connection, or leave it to another, and be back."""
        if how == "taken over":
            await self._take_over()
            return
        if how == "cut while it does not read":
            self._reads.clear()
            await self._talk(self._rng.uniform(0.1, 0.4))
            if self._rng.random() < 0.5:
                await self._say({"type": "response.cancel" if self.plain else "barge_in"})
        for _ in range(self._rng.randint(0, 5)):
            await self._say(self._next())
        await self._cut()
        if how == "cut on its way back":
            for _ in range(self._rng.randint(1, 3)):
                await self._come_back(self._last, hasty=True)
                await asyncio.sleep(self._rng.uniform(0.0, 0.06))
                await self._cut()
        elif how == "cut, later back":
            await asyncio.sleep(self._rng.uniform(0.1, 1.0))
        await self._come_back(self._last)

    async def _cut(self) -> None:
        self._socket.transport.abort()
        self._reads.set()
        await self._reading
        if self._greeting.done():
            self._greeting.result()  # may be that it was turned away

    async def _take_over(self) -> None:
        """The first connection reads on; it must be told, and closed."""
        reading, first, after = self._reading, self.connections[-1], self._last
        await self._come_back(after)
        await reading
        if (first.code, first.reason) != (1000, "session_replaced"):
            raise Violation("disturbed", f"who was replaced was let go with {first.code} {first.reason}")

    async def _come_back(self, after: int, *, hasty: bool = False) -> None:
        """`hasty`: do not even wait for an answer."""
        resume: Frame = {"type": "session.resume", "session_id": self.session, "resume_token": self._token}
        resume["last_received_server_event_seq"] = after
        query = "?duplex=1&autostart=0"
        if self.plain:
            query = f"?session_id={self.session}&resume_token={self._token}&after={after}"

        async def ask() -> None:
            if not self.plain:
                await self._write(resume)

        greeting = await self._connect(query, after, ask, hasty=hasty)
        if hasty or self.plain:
            return
        if greeting["as_of_server_event_seq"] != after:
            raise Violation("disturbed", f"resumed after {greeting['as_of_server_event_seq']}, not {after}")
        ids = [event_id for event_id, _ in self.sent]
        taken_in = greeting["last_accepted_client_event_id"]
        again = self.sent[0 if taken_in is None else ids.index(taken_in) + 1 :]
        self.sent_again += len(again)
        with contextlib.suppress(ConnectionClosed):
            for _, text in again:
                await self._socket.send(text, text=True)

    async def _connect(self, query: str, after: int, ask: Any, *, hasty: bool = False) -> Frame:
        """The first frame of a new connection on which `ask` was called."""
        self._socket = await connect(self._url + query, proxy=None, compression=None, max_size=None)
        self.connections.append(Connection(after))
        self._greeting = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read(self._socket, self.connections[-1], self._greeting))
        await ask()
        return {} if hasty else await self._greeting

    @property
    def _last(self) -> int:
        """The number of the last frame that is here, on whichever connection."""
        return self.connections[-1].last

    async def _read(
        self, socket: ClientConnection, connection: Connection, greeting: asyncio.Future[Frame]
    ) -> None:
        try:
            async for text in socket:
                frame = msgspec.json.decode(text)
                if not greeting.done():
                    self._greeted(frame, connection, greeting)
                if number(frame) >= 0:
                    connection.frames.append(frame)
                    connection.audio += frame["type"] == "response.output_audio.delta"
                elif frame["type"] == "conversation.item.retrieved" or _is_about(frame, "the_end"):
                    self._ended.set()
                await self._reads.wait()
        except ConnectionClosed:
            pass
        connection.code, connection.reason = socket.close_code, socket.close_reason or ""

    def _greeted(self, frame: Frame, connection: Connection, greeting: asyncio.Future[Frame]) -> None:
        if frame["type"] not in ("session.created", "session.resumed"):
            greeting.set_exception(Violation("lost", f"a client may not come back: {frame}"))
            return
        told = frame["session"] if self.plain else frame
        connection.generation = told.get("attachment_generation", 1)
        self._token = told["resume_token"]
        greeting.set_result(frame)

    async def _end(self) -> None:
        """Say farewell, and read to the end. A plain client asks for what is not there: the answer comes
        after everything that was asked before."""
        if self.plain:
            lost = {"type": "conversation.item.retrieve", "item_id": "nothing", "event_id": "the_end"}
            await self._write(lost)
            await self._ended.wait()
            await self._socket.close()
        else:
            await self._say({"type": "session.close"})
        await self._reading


def _is_about(frame: Frame, event_id: str) -> bool:
    return frame["type"] == "error" and frame["error"].get("event_id") == event_id
