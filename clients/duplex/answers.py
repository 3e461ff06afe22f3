"""Events to answers: which response an event belongs to, and when somebody hears of it."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from . import events as e
from .errors import DuplexClientError, DuplexProtocolError, protocol_error
from .playback import PlaybackClock, Plays
from .reading import own
from .response import ResponseHandle

UNTAKEN = 32
"""Announced answers that are kept for `responses()`. Decisions to listen go first, then the oldest."""
REMEMBERED = 32
"""Finished answers that may still be interrupted: they may still be playing."""


class Answers:
    """`tell` is called with events of the client's own."""

    def __init__(
        self,
        speak_on: Callable[[ResponseHandle, Plays], PlaybackClock],
        tell: Callable[[e.Event], None],
    ) -> None:
        self._speak_on, self._tell = speak_on, tell
        self._known = OrderedDict[str, ResponseHandle]()
        self._announced = set[str]()
        self._untaken = deque[ResponseHandle | DuplexProtocolError]()
        self._news = asyncio.Event()
        self._over = False
        self._error: DuplexClientError | None = None

    async def next(self) -> ResponseHandle | None:
        """The next answer that is announced; None after an ordinary end. Raises errors in their place, and
        what the session ended with."""
        while not self._untaken:
            if self._error is not None:
                raise self._error
            if self._over:
                return None
            self._news.clear()
            await self._news.wait()
        found = self._untaken.popleft()
        if isinstance(found, DuplexProtocolError):
            raise found
        return found

    def take(self, event: e.Event) -> None:
        match event:
            case e.ResponseCreated():
                self._of(event.response_id).created_event = event
            case e.AudioDelta():
                handle = self._of(event.response_id)
                handle.heard(event)
                self._announce(handle)
            case e.TextDelta() if event.delta:
                self._worded(self._of(event.response_id), event)
            case e.Speak():
                self._speaks(self._of(event.response_id))
            case e.FunctionCall():
                handle = self._of(event.response_id)
                handle.function_calls.append(event)
                self._speaks(handle)
            case e.ResponseListen():
                self._listened(event)
            case e.OutputCleared() if event.response_id in self._known:
                self._known[event.response_id].cut()
            case e.ResponseDone():
                handle = self._of(event.response_id)
                handle.finish(event)
                self._announce(handle)
                self._forget()
            case e.Event(type="error"):
                self._put(protocol_error(event.raw))

    def interrupt(self) -> None:
        """The user breaks in: nothing more is played of what was said so far."""
        for handle in self._known.values():
            if handle.may_sound:
                handle.cut()

    def end(self, error: DuplexClientError | None) -> None:
        self._over, self._error = True, error
        for handle in self._known.values():
            if not handle.finished:
                handle.fail(error or DuplexClientError("the session ended before the answer did"))
        self._news.set()

    def _of(self, response_id: str) -> ResponseHandle:
        handle = self._known.get(response_id)
        if handle is None:
            handle = self._known[response_id] = ResponseHandle(response_id, self._speak_on)
        return handle

    def _worded(self, handle: ResponseHandle, event: e.TextDelta) -> None:
        if event.type == "response.output_text.delta":
            handle.text += event.delta
        else:
            handle.transcript += event.delta
        self._speaks(handle)

    def _speaks(self, handle: ResponseHandle) -> None:
        handle.decision = "speak"
        self._announce(handle)

    def _listened(self, event: e.ResponseListen) -> None:
        if event.response_id is None:
            handle = ResponseHandle(None, self._speak_on)
            handle.listen_event = event
            handle.finish(None)
            self._put(handle)
            return
        self._of(event.response_id).listen_event = event

    def _announce(self, handle: ResponseHandle) -> None:
        """Once. Words and audio without end belong to an answer that is known by then."""
        name = str(handle.response_id)
        if name not in self._announced:
            self._announced.add(name)
            self._put(handle)

    def _put(self, found: ResponseHandle | DuplexProtocolError) -> None:
        if len(self._untaken) >= UNTAKEN:
            self._drop()
        self._untaken.append(found)
        self._news.set()

    def _drop(self) -> None:
        gone = next((one for one in self._untaken if _is_silent(one)), self._untaken[0])
        self._untaken.remove(gone)
        if isinstance(gone, ResponseHandle) and not _is_silent(gone):
            gone.let_go()
            members = {"response_id": gone.response_id, "audio_ms": gone.audio_ms}
            self._tell(own("client.answers_dropped", time.monotonic(), **members))

    def _forget(self) -> None:
        finished = [name for name, handle in self._known.items() if handle.finished]
        for name in finished[:-REMEMBERED]:
            self._announced.discard(name)
            del self._known[name]


def _is_silent(one: ResponseHandle | DuplexProtocolError) -> bool:
    return isinstance(one, ResponseHandle) and one.decision == "listen"
