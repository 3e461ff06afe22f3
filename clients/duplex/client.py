"""A client of the duplex dialect.

    async with DuplexClient("ws://127.0.0.1:8765", config=presets.cascade()) as client:
        await client.send_text("Hello!")
        async for answer in client.responses():
            async for piece in answer.audio():
                player.write(piece)

A connection that is lost is had back by itself, with what was missed and what had not arrived. All methods
raise what the session has ended with (errors.py).
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import secrets
import ssl
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Any, Self

from . import events as e
from .acknowledging import Acknowledging
from .address import build_realtime_url
from .answers import Answers
from .configuration import SessionConfig
from .errors import DuplexClientError, DuplexConnectionError, protocol_error
from .journal import Command
from .lifeline import Lifeline, Patience
from .opening import Connect, opener
from .recent import Reader, Recent
from .response import ResponseHandle
from .standing import ReconnectPolicy
from .units import chunk_period_ms

Json = dict[str, Any]
PCM_CHUNK_MS = 200
CLOSE_S = 20.0
IMAGE_EVERY_MS = 1000
"""How much audio goes with one image, where the model hears in no units of its own."""
CLOSES = ("session.close", "close", "close_session", "session_close")
USUAL_RECONNECT = ReconnectPolicy()


class DuplexClient:
    """One session. `url` is the server's; `connect` opens sockets in another way, for tests and tunnels."""

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        config: SessionConfig | None = None,
        api_key: str | None = None,
        tls: ssl.SSLContext | None = None,
        reconnect: ReconnectPolicy | None = USUAL_RECONNECT,
        heartbeat_interval_s: float | None = 30.0,
        handshake_timeout_s: float = 30.0,
        connect: Connect | None = None,
    ) -> None:
        self.config = config or SessionConfig()
        self._model = model
        self._recent = Recent()
        self._reader, self._waiter = Reader(self._recent), Reader(self._recent)
        self._acknowledging = Acknowledging(self._played)
        self._answers = Answers(self._acknowledging.speak_on, self._recent.add)
        self._lifeline = Lifeline(
            build_realtime_url(url, model=model),
            connect or opener(api_key=api_key, tls=tls, timeout_s=handshake_timeout_s),
            reconnect,
            Patience(handshake_timeout_s, heartbeat_interval_s),
            receive=self._receive,
            ended=self._end,
        )
        self._run_id = secrets.token_hex(4)
        self._numbers = itertools.count(1)

    # --- the session --------------------------------------------------------------------------------------

    @property
    def session_id(self) -> str | None:
        return self._lifeline.standing.session_id

    @property
    def session_info(self) -> Json:
        """The session object as the server last showed it: what holds, and what the model can do."""
        return self._lifeline.standing.session

    @property
    def resume_token(self) -> str | None:
        """What brings the session back; None: this server does not resume, or cannot any more."""
        return self._lifeline.standing.resume_token

    @property
    def attachment_generation(self) -> int | None:
        """Counts the connections of the session."""
        return self._lifeline.standing.attachment_generation

    @property
    def is_attached(self) -> bool:
        """Whether there is a connection just now."""
        return self._lifeline.is_attached

    @property
    def dropped_events(self) -> int:
        """How many events `events()` and `wait_for()` came too late for."""
        return self._recent.dropped

    async def connect(self) -> Self:
        """Open the session. Raises DuplexConnectionError, DuplexProtocolError."""
        session = self.config.to_session_payload(model=self._model)
        try:
            await self._lifeline.open({"type": "session.update", "session": session})
        except BaseException:
            await self._lifeline.hang_up()
            raise
        return self

    async def close(self, timeout_s: float = CLOSE_S) -> None:
        """End the session, and wait until the server has said so. Nothing to do when it is over.

        Raises what it ended with instead, and DuplexConnectionError when nothing is said in time; the
        connection is closed then, too.
        """
        try:
            async with asyncio.timeout(timeout_s):
                if not self._lifeline.is_over:
                    await self._acknowledging.tell()
                    await self.send({"type": "session.close"})
                    await self._lifeline.until_over()
        except TimeoutError:
            raise DuplexConnectionError(f"the session was not closed within {timeout_s:g} s") from None
        finally:
            await self._acknowledging.stop()
            await self._lifeline.hang_up()

    async def __aenter__(self) -> Self:
        return await self.connect()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self.close()
            return
        with contextlib.suppress(DuplexClientError):  # the first error is the one to tell
            await self.close()

    # --- what is said -------------------------------------------------------------------------------------

    async def send(self, raw: Json) -> str:
        """Send any event of the protocol; its `event_id`, which it is given if it has none.

        While the connection is being had back it is kept and sent then. Whoever gives up waiting for this has
        said it all the same. Raises DuplexOverflowError when too much is kept already.
        """
        event_id = str(raw.get("event_id") or f"c{self._run_id}_{next(self._numbers)}")
        if raw.get("type") in CLOSES:
            self._lifeline.closing = True
        text = json.dumps({**raw, "event_id": event_id})
        await self._lifeline.send(Command(event_id, text))
        return event_id

    async def append_audio(
        self, pcm: bytes, *, is_speech: bool | None = None, images: Sequence[bytes] = ()
    ) -> str:
        """The user's audio, as `config.input_audio` says; `images` (JPEG, PNG) were seen meanwhile."""
        frame: Json = {"type": "input_audio_buffer.append"}
        if pcm:
            frame["audio"] = base64.b64encode(pcm).decode()
        if is_speech is not None:
            frame["is_speech"] = is_speech
        if images:
            frame["video_frames"] = [base64.b64encode(image).decode() for image in images]
        return await self.send(frame)

    async def stream_pcm(
        self,
        pcm: bytes,
        chunk_ms: int = PCM_CHUNK_MS,
        *,
        realtime: bool = True,
        images: Sequence[bytes] = (),
    ) -> int:
        """A recording, in pieces; how many. In real time a piece leaves when its last sample was spoken.

        One image goes with each of the model's units (or each second), for as long as there are any.
        """
        size = max(self.config.input_audio.byte_count(chunk_ms), self.config.input_audio.bytes_per_sample)
        every_ms = chunk_period_ms(self.session_info) or IMAGE_EVERY_MS
        loop = asyncio.get_running_loop()
        began, left, sent = loop.time(), list(images), 0
        for start in range(0, len(pcm), size):
            piece = pcm[start : start + size]
            if realtime:
                spoken_s = self.config.input_audio.duration_ms(start + len(piece)) / 1000
                await asyncio.sleep(max(began + spoken_s - loop.time(), 0))
            due = int(self.config.input_audio.duration_ms(start) // every_ms) + 1
            seen = [left.pop(0)] if left and len(images) - len(left) < due else []
            await self.append_audio(piece, images=seen)
            sent += 1
        return sent

    async def commit(self, *, final: bool = True, create_response: bool | None = None) -> str:
        """The user's turn is over. Answered if `create_response` or the session says so."""
        frame: Json = {"type": "input_audio_buffer.commit", "final": final}
        if create_response is not None:
            frame["create_response"] = create_response
        return await self.send(frame)

    async def clear_input(self) -> str:
        """Throw away what was not committed."""
        return await self.send({"type": "input_audio_buffer.clear"})

    async def append_text(self, text: str) -> str:
        """What the user writes while talking, for models that take it."""
        return await self.send({"type": "input.text.append", "text": text})

    async def send_text(self, text: str, *, create_response: bool = True) -> str:
        """A message of the user's, and (unless told otherwise) a wish for an answer; the message's id."""
        content = [{"type": "input_text", "text": text}]
        item = {"type": "message", "role": "user", "content": content}
        event_id = await self.send({"type": "conversation.item.create", "item": item})
        if create_response:
            await self.send({"type": "response.create"})
        return event_id

    async def cancel_response(self, response_id: str | None = None) -> str:
        """Stop the answer that is generated, or only that one."""
        return await self.send(_with({"type": "response.cancel"}, response_id=response_id))

    async def barge_in(self) -> str:
        """The user breaks in: answers end here at once, the server is told how far they were heard, and then
        that it is to stop."""
        self._answers.interrupt()
        await self._acknowledging.tell()
        return await self.send({"type": "barge_in"})

    async def ack_playback(
        self,
        played_ms: float,
        response_id: str | None = None,
        item_id: str | None = None,
        committed_ms: float | None = None,
    ) -> str:
        """How much of an answer was played, for who does not leave that to `ResponseHandle.audio()`."""
        frame = {"type": "playback.ack", "played_ms": played_ms}
        members = {"response_id": response_id, "item_id": item_id, "committed_ms": committed_ms}
        return await self.send(_with(frame, **members))

    # --- what is heard ------------------------------------------------------------------------------------

    async def events(self) -> AsyncIterator[e.Event]:
        """Everything, from where the last reading stopped. One task reads at a time.

        A reader that is more than 1024 events behind is told by `client.events_dropped`.
        """
        while (event := await self._reader.next()) is not None:
            yield event

    def __aiter__(self) -> AsyncIterator[e.Event]:
        return self.events()

    async def wait_for(self, *types: str, timeout_s: float | None = 30.0) -> e.Event:
        """The next event of these types that no wait_for has passed yet; it reads apart from `events()`.

        Raises TimeoutError, and DuplexProtocolError at an error (unless errors are what is waited for).
        """
        async with asyncio.timeout(timeout_s):
            while (event := await self._waiter.next()) is not None:
                if event.type in types:
                    return event
                if event.type == "error":
                    raise protocol_error(event.raw)
        raise DuplexConnectionError(f"the session ended before {' or '.join(types)} came")

    async def responses(self) -> AsyncIterator[ResponseHandle]:
        """Answers, each once: with its first output, or with its end. An error is raised in its place; the
        next call goes on behind it."""
        while (answer := await self._answers.next()) is not None:
            yield answer

    # --- between the two ----------------------------------------------------------------------------------

    def _receive(self, event: e.Event) -> None:
        self._recent.add(event)
        self._answers.take(event)

    def _end(self, error: DuplexClientError | None) -> None:
        self._recent.end(error)
        self._answers.end(error)

    async def _played(self, played_ms: int, response_id: str) -> None:
        await self.ack_playback(played_ms, response_id)


def _with(frame: Json, **members: object) -> Json:
    """The frame and those members that have a value."""
    return {**frame, **{name: value for name, value in members.items() if value is not None}}
