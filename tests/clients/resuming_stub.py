"""A stub: a server that keeps one session over any number of connections, and says only what a test says.

It numbers its frames, gives a token at every attachment, sends again what was missed, and remembers the ids of
the commands that it was sent. For what a test needs the server to do on purpose; all else is tried with the
real one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed

Json = dict[str, Any]
ASIDE = ("session.heartbeat", "session.event_ack")


class ResumingStub:
    url: str

    def __init__(self, *, resumes: bool = True, answers_close: bool = True) -> None:
        self.resumes, self.answers_close = resumes, answers_close
        self.frames: list[Json] = []
        """Numbered, all that were ever said."""
        self.accepted: list[Json] = []
        """Commands, without those that were accepted before."""
        self.aside: list[Json] = []
        self.attempts: list[Json] = []
        """Every session.resume."""
        self.refusals: list[Callable[[ServerConnection], Any]] = []
        """What happens to the next resumes instead of success, one after the other."""
        self.headers: Headers | None = None
        self.generation = 0
        self._numbers = 0
        self._socket: ServerConnection | None = None
        self._changed = asyncio.Condition()

    @property
    def token(self) -> str:
        return f"token-{self.generation}"

    async def until(self, condition: Callable[[], bool]) -> None:
        """Asked again whenever something arrives."""
        async with asyncio.timeout(10), self._changed:
            await self._changed.wait_for(condition)

    async def say(self, kind: str, **members: Any) -> Json:
        """A numbered frame; where nobody is attached it waits for the resume."""
        self._numbers += 3
        frame = {"type": kind, "event_id": f"e{self._numbers}", "server_event_seq": self._numbers, **members}
        self.frames.append(frame)
        if self._socket is not None:
            with contextlib.suppress(ConnectionClosed):
                await self._socket.send(json.dumps(frame))
        return frame

    async def reply(self, kind: str, **members: Any) -> None:
        assert self._socket is not None
        await self._socket.send(json.dumps({"type": kind, "event_id": "reply", **members}))

    async def raw(self, text: str) -> None:
        assert self._socket is not None
        await self._socket.send(text)

    async def cut(self, code: int | None = None) -> None:
        """End the connection: with a close code, or without a word."""
        socket, self._socket = self._socket, None
        assert socket is not None
        if code is None:
            socket.transport.abort()
        else:
            await socket.close(code)

    async def serve(self, socket: ServerConnection) -> None:
        self.headers = None if socket.request is None else socket.request.headers
        with contextlib.suppress(ConnectionClosed):
            first = json.loads(await socket.recv())
            if first["type"] == "session.resume":
                self.attempts.append(first)
                if self.refusals:
                    await self.refusals.pop(0)(socket)
                    return
            await self._attach(socket, first)
            async for text in socket:
                await self._take(json.loads(text))
        if self._socket is socket:
            self._socket = None

    async def _attach(self, socket: ServerConnection, first: Json) -> None:
        resumed = first["type"] == "session.resume"
        self.generation += 1
        shown = {"session": {"id": "sess_1"}, "attachment_generation": self.generation}
        if not resumed:
            self.accepted.append(first)
            greeting = {"type": "session.created", "event_id": "e0", **shown}
            if self.resumes:
                greeting["resume_token"] = self.token
            await socket.send(json.dumps(greeting))
        else:
            last = self.accepted[-1].get("event_id") if self.accepted else None
            again = {"type": "session.resumed", "event_id": "r", "session_id": "sess_1", **shown}
            more = {"resume_token": self.token, "last_accepted_client_event_id": last}
            await socket.send(json.dumps({**again, **more}))
            for frame in self.frames:
                if frame["server_event_seq"] > first["last_received_server_event_seq"]:
                    await socket.send(json.dumps(frame))
        self._socket = socket
        async with self._changed:
            self._changed.notify_all()

    async def _take(self, frame: Json) -> None:
        if frame["type"] in ASIDE:
            self.aside.append(frame)
        elif frame["event_id"] not in [one.get("event_id") for one in self.accepted]:
            self.accepted.append(frame)
        async with self._changed:
            self._changed.notify_all()
        if frame["type"] == "session.close" and self.answers_close:
            await self.say("session.closed", session_id="sess_1", reason="client_close")
            await self.cut(1000)

    # --- what a test wants to know ------------------------------------------------------------------------

    def texts(self) -> list[str]:
        """The words of input.text.append, in the order of their acceptance."""
        return [one["text"] for one in self.accepted if one["type"] == "input.text.append"]


def says_error(code: str, close: int = 1008) -> Callable[[ServerConnection], Any]:
    async def refuse(socket: ServerConnection) -> None:
        error = {"type": "invalid_request_error", "code": code, "message": "no"}
        await socket.send(json.dumps({"type": "error", "event_id": "x", "error": error}))
        await socket.close(close)

    return refuse


def says(kind: str, **members: Any) -> Callable[[ServerConnection], Any]:
    async def refuse(socket: ServerConnection) -> None:
        await socket.send(json.dumps({"type": kind, "event_id": "x", "session_id": "sess_1", **members}))
        await socket.close(1000)

    return refuse


async def drops(socket: ServerConnection) -> None:
    socket.transport.abort()


@contextlib.asynccontextmanager
async def resuming_stub(**how: Any) -> AsyncIterator[ResumingStub]:
    stub = ResumingStub(**how)
    async with serve(stub.serve, "127.0.0.1", 0, compression=None, max_size=None) as server:
        stub.url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield stub
