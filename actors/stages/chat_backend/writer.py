"""Asks a chat server for the words of an answer, and hands them on as they come.

A request is tried again only while nothing of it can have run: the connection was not made, or the server
answered 429 or 503 instead of an answer. Once it was sent and the line broke, or a word came, it is not.

`llm_unreachable`   no connection, no answer in time, or an answer that broke off
`llm_refused`       the server answered with an error, or with something that is no answer

The key comes from the environment and goes into one header. Neither it nor what the server says in an error
is put into messages or logs: servers quote both the key and the conversation there.
"""

import asyncio
import concurrent.futures
import ipaddress
import os
import threading
from collections.abc import Callable
from typing import Any

import httpx

from antiphon.actors.stages.cascade.writing import Request, Stop, WritingFailed, Written
from antiphon.actors.stages.chat_backend.chunks import Completion, NotAnAnswer
from antiphon.actors.stages.chat_backend.messages import choice, message, tool
from antiphon.actors.stages.chat_backend.sse import Events, TooLong
from antiphon.actors.stages.contract import EngineRefused
from antiphon.events.ids import SessionId

KEY_VARIABLE = "ANTIPHON_LLM_API_KEY"
CONNECT_S = 5.0
SILENCE_S = 30.0
"""How long a server may say nothing, before its answer and within it."""
RETRY_AFTER_S = (0.25, 1.0)
_BUSY = (429, 503)


class ChatWriter:
    """One chat server; requests run on a loop of their own, so that a silent server can be left at once."""

    room = 6000
    """Tokens of conversation sent at most; today's servers hold more."""

    def __init__(
        self, url: str, model: str, *, key: str = "", lanes: int = 8, silence_s: float = SILENCE_S
    ) -> None:
        self._url, self._model, self.lanes = completions_url(url), model, lanes
        if not model:
            raise EngineRefused("bad_settings", "a chat server needs the name of its model: --llm-model")
        self._client = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(silence_s, connect=CONNECT_S),
            # The environment's proxies are for other hosts: they would be asked for *their* loopback.
            trust_env=not _is_loopback(httpx.URL(self._url).host),
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="chat", daemon=True)
        self._thread.start()

    @classmethod
    def from_environment(cls, url: str, model: str, *, lanes: int) -> "ChatWriter":
        key = os.environ.get(KEY_VARIABLE, "").strip()  # a file's last line end is no part of it
        if not key.isascii() or not key.isprintable():
            raise EngineRefused("bad_settings", f"{KEY_VARIABLE} holds what no header can carry")
        return cls(url, model, key=key, lanes=lanes)

    def prepare(self, session: SessionId) -> None:
        """Nothing is known of the session at the server."""

    def forget(self, session: SessionId) -> None:
        """Nothing is known of the session at the server."""

    def write(self, request: Request, take: Callable[[str], bool], stop: Stop) -> Written:
        """Raises WritingFailed. `take` is called on the requests' loop and must not block."""
        answer = asyncio.run_coroutine_threadsafe(self._write(request, take), self._loop)
        stop.then(answer.cancel)
        try:
            return answer.result()
        except concurrent.futures.CancelledError:
            return Written(why="stopped")

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._client.aclose(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _write(self, request: Request, take: Callable[[str], bool]) -> Written:
        for wait_s in (*RETRY_AFTER_S, None):
            try:
                return await self._once(request, take)
            except _NotBegun as not_begun:
                if wait_s is None:
                    raise not_begun.failed from not_begun
                await asyncio.sleep(wait_s)
        raise AssertionError("the last attempt returns or raises")

    async def _once(self, request: Request, take: Callable[[str], bool]) -> Written:
        try:
            async with self._client.stream("POST", self._url, json=self._body(request)) as response:
                if response.status_code != httpx.codes.OK:
                    raise _refusal(response.status_code)
                return await _follow(response, take)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            unreachable = WritingFailed("llm_unreachable", "no connection to the chat server", retryable=True)
            raise _NotBegun(unreachable) from error
        except httpx.HTTPError as error:
            broke = "the chat server's answer did not come, or broke off"
            raise WritingFailed("llm_unreachable", broke, retryable=True) from error
        except (NotAnAnswer, TooLong) as error:
            raise WritingFailed("llm_refused", f"the chat server sent no answer: {error}") from error

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [message(turn) for turn in request.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.max_tokens is not None:
            body["max_tokens"] = request.max_tokens
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.tools:
            body["tools"] = [tool(one) for one in request.tools]
            body["tool_choice"] = choice(request.tool_choice)
        return body


class _NotBegun(Exception):
    """The request cannot have run, so it may be sent again."""

    def __init__(self, failed: WritingFailed) -> None:
        super().__init__(failed.message)
        self.failed = failed


def _refusal(status: int) -> Exception:
    busy = status in _BUSY
    failed = WritingFailed("llm_refused", f"the chat server answered HTTP {status}", retryable=busy)
    return _NotBegun(failed) if busy else failed


async def _follow(response: httpx.Response, take: Callable[[str], bool]) -> Written:
    events, completion = Events(), Completion()
    async for piece in response.aiter_bytes():
        for data in events.feed(piece):
            words = completion.read(data)
            if words and take(words):
                return Written(why="stopped")
    if not completion.ended:
        broke_off = "the chat server's answer broke off"
        raise WritingFailed("llm_unreachable", broke_off, retryable=True)
    return completion.written()


def completions_url(url: str) -> str:
    """Where to ask, from a server's base URL (`…/v1`). Raises EngineRefused."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise EngineRefused("bad_settings", f"--llm-url is no URL: {error}") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise EngineRefused("bad_settings", "--llm-url wants http(s)://host[:port]/v1")
    if parsed.userinfo:
        raise EngineRefused("bad_settings", f"--llm-url takes no password; put a key into {KEY_VARIABLE}")
    base = url.rstrip("/")
    return base if base.endswith("/chat/completions") else f"{base}/chat/completions"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
