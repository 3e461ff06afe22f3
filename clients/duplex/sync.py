"""The client for programs without an event loop: the same names, the loop in a thread of its own.

    with SyncDuplexClient("ws://127.0.0.1:8765") as client:
        client.send_text("Hello!")
        for answer in client.responses():
            for piece in answer.audio():
                player.write(piece)

Any thread may send; one at a time reads events, one answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from . import events as e
from .client import CLOSE_S, PCM_CHUNK_MS, DuplexClient
from .errors import DuplexClientError
from .playback import Plays
from .response import ResponseHandle

Json = dict[str, Any]
T = TypeVar("T")


class LoopThread:
    """An event loop that runs in a thread until it is stopped. After that nothing has to be waited for any
    more, and what is still asked is answered where it is asked."""

    def __init__(self) -> None:
        self.stopped = False
        self._asking = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="duplex-client", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What the work comes to. Interrupted here, it is cancelled there."""
        if self.stopped:
            with self._asking:
                return self._loop.run_until_complete(work)
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def each(self, items: AsyncIterator[T]) -> Iterator[T]:
        async def following() -> tuple[T] | None:
            try:
                return (await anext(items),)
            except StopAsyncIteration:
                return None

        while (found := self.run(following())) is not None:
            yield found[0]

    def stop(self) -> None:
        self.stopped = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        weakref.finalize(self, self._loop.close)


class SyncResponseHandle:
    """See ResponseHandle, which `handle` is."""

    def __init__(self, handle: ResponseHandle, thread: LoopThread) -> None:
        self.handle, self._thread = handle, thread

    @property
    def response_id(self) -> str | None:
        return self.handle.response_id

    @property
    def decision(self) -> Literal["speak", "listen"]:
        return self.handle.decision

    @property
    def transcript(self) -> str:
        return self.handle.transcript

    @property
    def text(self) -> str:
        return self.handle.text

    @property
    def status(self) -> str | None:
        return self.handle.status

    @property
    def finished(self) -> bool:
        return self.handle.finished

    @property
    def played_ms(self) -> int:
        return self.handle.played_ms

    def wait(self) -> SyncResponseHandle:
        self._thread.run(self.handle.wait())
        return self

    def wait_played(self) -> SyncResponseHandle:
        self._thread.run(self.handle.wait_played())
        return self

    def audio(self, plays: Plays = "in_real_time") -> Iterator[bytes]:
        return self._thread.each(self.handle.audio(plays))


class SyncDuplexClient:
    """See DuplexClient, which takes the same arguments and which `client` is."""

    def __init__(self, url: str, **options: Any) -> None:
        self.client = DuplexClient(url, **options)
        self._thread = LoopThread()

    @property
    def session_id(self) -> str | None:
        return self.client.session_id

    @property
    def session_info(self) -> Json:
        return self.client.session_info

    @property
    def resume_token(self) -> str | None:
        return self.client.resume_token

    @property
    def attachment_generation(self) -> int | None:
        return self.client.attachment_generation

    @property
    def is_attached(self) -> bool:
        return self.client.is_attached

    @property
    def dropped_events(self) -> int:
        return self.client.dropped_events

    def connect(self) -> Self:
        try:
            self._thread.run(self.client.connect())
        except BaseException:
            self._thread.stop()
            raise
        return self

    def close(self, timeout_s: float = CLOSE_S) -> None:
        """The thread ends with it. Nothing to do when it has."""
        if self._thread.stopped:
            return
        try:
            self._thread.run(self.client.close(timeout_s))
        finally:
            self._thread.stop()

    def __enter__(self) -> Self:
        return self.connect()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        with contextlib.suppress(DuplexClientError):  # the first error is the one to tell
            self.close()

    def send(self, raw: Json) -> str:
        return self._thread.run(self.client.send(raw))

    def append_audio(self, pcm: bytes, *, is_speech: bool | None = None, images: Sequence[bytes] = ()) -> str:
        return self._thread.run(self.client.append_audio(pcm, is_speech=is_speech, images=images))

    def stream_pcm(
        self,
        pcm: bytes,
        chunk_ms: int = PCM_CHUNK_MS,
        *,
        realtime: bool = True,
        images: Sequence[bytes] = (),
    ) -> int:
        return self._thread.run(self.client.stream_pcm(pcm, chunk_ms, realtime=realtime, images=images))

    def commit(self, *, final: bool = True, create_response: bool | None = None) -> str:
        return self._thread.run(self.client.commit(final=final, create_response=create_response))

    def clear_input(self) -> str:
        return self._thread.run(self.client.clear_input())

    def append_text(self, text: str) -> str:
        return self._thread.run(self.client.append_text(text))

    def send_text(self, text: str, *, create_response: bool = True) -> str:
        return self._thread.run(self.client.send_text(text, create_response=create_response))

    def cancel_response(self, response_id: str | None = None) -> str:
        return self._thread.run(self.client.cancel_response(response_id))

    def barge_in(self) -> str:
        return self._thread.run(self.client.barge_in())

    def ack_playback(
        self,
        played_ms: float,
        response_id: str | None = None,
        item_id: str | None = None,
        committed_ms: float | None = None,
    ) -> str:
        return self._thread.run(self.client.ack_playback(played_ms, response_id, item_id, committed_ms))

    def wait_for(self, *types: str, timeout_s: float | None = 30.0) -> e.Event:
        return self._thread.run(self.client.wait_for(*types, timeout_s=timeout_s))

    def events(self) -> Iterator[e.Event]:
        return self._thread.each(self.client.events())

    def __iter__(self) -> Iterator[e.Event]:
        return self.events()

    def responses(self) -> Iterator[SyncResponseHandle]:
        for handle in self._thread.each(self.client.responses()):
            yield SyncResponseHandle(handle, self._thread)
