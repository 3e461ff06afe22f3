"""A voice call over the Realtime protocol: an example of how to talk to the server, and what `say` uses.

    async with connect("ws://127.0.0.1:8765/v1/realtime") as call:
        exchange = await call.ask(pcm)          # 24 kHz, mono, signed 16 bit, little-endian
        print(exchange.question, "->", exchange.answer)

One task reads a call's events at a time; sending is free for all. What can go wrong:

CallError
  CallRefused   no connection, or the server does not want this one; `code` says why (`unreachable`,
                `invalid_api_key`, `resource_exhausted`, ...)
  CallLost      the connection ended in the middle; `close_code` as the server gave it, None if it gave none
  NoAnswer      nothing, or only part of an answer, came in time; `exchange` holds what did
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as open_socket
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.http11 import Response

from .exchange import Event, Exchange
from .microphone import FRAME_MS, Microphone, Phrase

LARGEST_MESSAGE = 16 * 1024 * 1024
WAIT_S = 15.0


class CallError(Exception):
    """Base of everything that ends a call early."""


class CallRefused(CallError):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class CallLost(CallError):
    def __init__(self, close_code: int | None, reason: str) -> None:
        super().__init__(f"the connection ended with code {close_code}: {reason or 'no reason given'}")
        self.close_code = close_code


class NoAnswer(CallError):
    def __init__(self, exchange: Exchange) -> None:
        super().__init__("no complete answer came in time")
        self.exchange = exchange


@asynccontextmanager
async def connect(
    url: str, *, key: str | None = None, session: dict[str, Any] | None = None
) -> AsyncIterator[Call]:
    """A call that is open and set up; hung up at the end of the block.

    The key travels in a header, never in the URL, where logs would keep it. `session` is merged by the server
    into its own settings; transcripts of what the user says are switched on in any case. Raises CallRefused.
    """
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        socket = await open_socket(
            url,
            additional_headers=headers,
            proxy=None,
            compression=None,  # audio does not shrink; trying costs time on every frame
            max_size=LARGEST_MESSAGE,
        )
    except InvalidStatus as refused:
        raise _refusal(refused.response) from refused
    except (OSError, WebSocketException, TimeoutError, EOFError) as error:
        raise CallRefused("unreachable", f"cannot connect to {url}: {error}") from error
    try:
        call = Call(socket)
        call.session = (await call.expect("session.created"))["session"]
        await call.update(session or {})
        yield call
    finally:
        await socket.close()  # 1000 whatever ended the block: hanging up is no failure of the server


class Call:
    """An open call."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.session: dict[str, Any] = {}
        """The session as the server last described it."""

    async def update(self, session: dict[str, Any]) -> None:
        """Change the session before anything is said. Raises CallRefused with the server's code."""
        await self.send({"type": "session.update", "session": _with_transcripts(session)})
        self.session = (await self.expect("session.updated"))["session"]

    async def append(self, pcm: bytes) -> None:
        await self.send({"type": "input_audio_buffer.append", "audio": base64.b64encode(pcm).decode()})

    async def commit(self) -> None:
        """Close the turn. Only for servers that do not detect its end; see `detects_turns`."""
        await self.send({"type": "input_audio_buffer.commit"})

    async def send(self, frame: dict[str, Any]) -> None:
        """Send any event of the protocol. Raises CallLost."""
        try:
            await self._socket.send(json.dumps(frame))
        except ConnectionClosed as closed:
            raise _lost(closed) from closed

    async def events(self) -> AsyncIterator[Event]:
        """Everything the server says, for as long as the call lasts. Raises CallLost when it ends."""
        while True:
            try:
                text = await self._socket.recv()
            except ConnectionClosed as closed:
                raise _lost(closed) from closed
            at = time.monotonic()
            body = json.loads(text)
            yield Event(at, body["type"], body)

    async def expect(self, kind: str) -> dict[str, Any]:
        """The next event of that kind; others before it are passed over. An error is a refusal."""
        async for event in self.events():
            if event.type == "error":
                error = event.body["error"]
                raise CallRefused(str(error.get("code")), str(error.get("message")))
            if event.type == kind:
                return event.body
        raise AssertionError("events() ends by raising")

    @property
    def detects_turns(self) -> bool:
        audio = self.session.get("audio", {}).get("input", {})
        return audio.get("turn_detection") is not None

    @asynccontextmanager
    async def microphone(self, frame_ms: int = FRAME_MS) -> AsyncIterator[Microphone]:
        """A microphone that is on within the block."""
        microphone = Microphone(self.append, frame_ms=frame_ms)

        async def listen() -> None:
            with contextlib.suppress(CallLost):  # whoever reads the events is told
                await microphone.run()

        listening = asyncio.create_task(listen())
        try:
            yield microphone
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def ask(
        self,
        pcm: bytes,
        *,
        frame_ms: int = FRAME_MS,
        wait_s: float = WAIT_S,
        watch: Callable[[Event], None] | None = None,
    ) -> Exchange:
        """Say something in real time and wait for the whole answer.

        `wait_s` counts from the end of what is said; `watch` is called with every event. Raises NoAnswer,
        CallLost.
        """
        async with self.microphone(frame_ms) as microphone:
            phrase = microphone.say(pcm)
            closing = None if self.detects_turns else asyncio.create_task(self._commit_after(phrase))
            try:
                return await self.answer(phrase, wait_s=wait_s, watch=watch)
            finally:
                if closing is not None:
                    closing.cancel()

    async def answer(
        self, phrase: Phrase, *, wait_s: float = WAIT_S, watch: Callable[[Event], None] | None = None
    ) -> Exchange:
        """The exchange that a phrase begins, once it is answered. Raises NoAnswer, CallLost."""
        exchange = Exchange(phrase.begun, phrase.ended)
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(phrase.ended - time.monotonic() + wait_s) as limit:
                async for event in self.events():
                    exchange.note(event)
                    if watch is not None:
                        watch(event)
                    left = phrase.ended - time.monotonic()
                    if exchange.settled and left <= 0:
                        return exchange
                    # An answer may come while the speaker only pauses: wait until the phrase is over.
                    limit.reschedule(loop.time() + left + (0 if exchange.settled else wait_s))
        except TimeoutError:
            if not exchange.settled:
                raise NoAnswer(exchange) from None
        return exchange

    async def _commit_after(self, phrase: Phrase) -> None:
        # The frame with the last sample leaves up to one frame after that sample was spoken.
        await asyncio.sleep(phrase.ended - time.monotonic() + 0.2)
        with contextlib.suppress(CallLost):
            await self.commit()


def _with_transcripts(session: dict[str, Any]) -> dict[str, Any]:
    audio = session.get("audio", {})
    heard = {"transcription": {"model": "whisper-1"}, **audio.get("input", {})}
    return {"type": "realtime", **session, "audio": {**audio, "input": heard}}


def _refusal(response: Response) -> CallRefused:
    """The server's own code and words if it gave any, else the status."""
    try:
        error = json.loads(response.body or b"")["error"]
        return CallRefused(str(error["code"]), str(error["message"]))
    except (ValueError, KeyError, TypeError):
        return CallRefused(f"http_{response.status_code}", f"HTTP {response.status_code}")


def _lost(closed: ConnectionClosed) -> CallLost:
    return CallLost(None, "") if closed.rcvd is None else CallLost(closed.rcvd.code, closed.rcvd.reason)
