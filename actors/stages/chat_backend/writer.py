"""Asks a chat server for the words of an answer, and hands them on as they come.

A request is tried again only while nothing of it can have run: the connection was not made, or the server
answered 429 or 503 instead of an answer; as late as its Retry-After says, within MOST_RETRY_AFTER_S. Once it
was sent and the line broke, or a word came, it is not. A stop closes the connection, which is how such
servers learn that nobody wants the rest.

`llm_unreachable`   no connection, or an answer that broke off
`llm_timeout`       the first word, or the next, did not come in time
`llm_refused`       the server answered with an error, or with something that is no answer

What the server says in an error is not put into messages or logs: servers quote both the key and the
conversation there.
"""

import asyncio
import concurrent.futures
import random
import threading
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

import httpx

from antiphon.actors.stages.cascade.writing import Request, Stop, WritingFailed, Written
from antiphon.actors.stages.chat_backend import drawing, endpoints
from antiphon.actors.stages.chat_backend.chunks import Completion, NotAnAnswer
from antiphon.actors.stages.chat_backend.endpoints import Endpoint, Patience
from antiphon.actors.stages.chat_backend.messages import choice, message, tool
from antiphon.actors.stages.chat_backend.sse import Events, TooLong
from antiphon.events.ids import SessionId

RETRY_AFTER_S = (0.25, 1.0)
"""How long after a failed attempt the next one follows, where the server names no time."""
MOST_RETRY_AFTER_S = 10.0
_BUSY = (429, 503)

T = TypeVar("T")


class ChatWriter:
    """One chat server, and whichever further ones it has by name; requests run on a loop of their own, so
    that a silent server can be left at once."""

    room = 6000
    """Tokens of conversation sent at most; today's servers hold more."""
    takes_verbatim = True

    def __init__(
        self,
        main: Endpoint,
        *,
        lanes: int = 8,
        patience: Patience = Patience(),
        others: Mapping[str, Endpoint] | None = None,
    ) -> None:
        self.lanes, self._patience = lanes, patience
        self._endpoints = {"": main, **(others or {})}
        # The environment's proxies are for other hosts: they would be asked for *their* loopback.
        self._clients = {trust: _client(trust, patience) for trust in (False, True)}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="chat", daemon=True)
        self._thread.start()

    def prepare(self, session: SessionId) -> None:
        """Nothing is known of the session at the server."""

    def forget(self, session: SessionId) -> None:
        """Nothing is known of the session at the server."""

    def write(self, request: Request, take: Callable[[str], bool], stop: Stop) -> Written:
        """Raises WritingFailed. `take` is called on the requests' loop and must not block."""
        endpoint = self.endpoint(request.endpoint)
        chats = endpoint.kind == "chat"
        written = self.run(
            lambda: self._once(endpoint, request, take) if chats else self._draw(endpoint, request), stop
        )
        return Written(why="stopped") if written is None else written

    def endpoint(self, name: str) -> Endpoint:
        """Raises WritingFailed."""
        if name not in self._endpoints:
            raise WritingFailed("llm_refused", f"there is no endpoint {name!r}")
        return self._endpoints[name]

    def run(self, attempt: Callable[[], Coroutine[Any, Any, T]], stop: Stop) -> T | None:
        """Make a request, again where that is harmless; None: nobody wants it any more.

        Raises WritingFailed. Blocks.
        """
        answer = asyncio.run_coroutine_threadsafe(_again_and_again(attempt), self._loop)
        stop.then(answer.cancel)
        try:
            return answer.result()
        except concurrent.futures.CancelledError:
            return None

    def client(self, endpoint: Endpoint) -> httpx.AsyncClient:
        return self._clients[not endpoints.is_loopback(httpx.URL(endpoint.url).host)]

    def close(self) -> None:
        for client in self._clients.values():
            asyncio.run_coroutine_threadsafe(client.aclose(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _once(self, endpoint: Endpoint, request: Request, take: Callable[[str], bool]) -> Written:
        try:
            async with asyncio.timeout(self._patience.connect_s + self._patience.first_word_s) as until:
                async with self.client(endpoint).stream(
                    "POST", endpoint.url, json=_body(endpoint, request), headers=endpoint.headers
                ) as response:
                    refuse_errors(response)
                    return await self._follow(response, take, until)
        except TimeoutError as error:
            raise WritingFailed("llm_timeout", "the chat server fell silent", retryable=True) from error
        except httpx.HTTPError as error:
            raise unreachable(error) from error
        except (NotAnAnswer, TooLong) as error:
            raise WritingFailed("llm_refused", f"the chat server sent no answer: {error}") from error

    async def _draw(self, endpoint: Endpoint, request: Request) -> Written:
        """A picture comes whole, and takes as long as a first word may and all further ones together."""
        patience = self._patience
        try:
            async with asyncio.timeout(patience.connect_s + patience.first_word_s + patience.idle_s):
                body = _body(endpoint, request) | {"stream": False}
                del body["stream_options"]
                if endpoint.kind == "image":
                    body = drawing.generation(endpoint.model, request.messages)
                response = await self.client(endpoint).post(endpoint.url, json=body, headers=endpoint.headers)
                refuse_errors(response)
                return Written(image=drawing.made(response.content))
        except TimeoutError as error:
            raise WritingFailed("llm_timeout", "no picture came in time", retryable=True) from error
        except httpx.HTTPError as error:
            raise unreachable(error) from error
        except NotAnAnswer as error:
            raise WritingFailed("llm_refused", f"the server made no picture: {error}") from error

    async def _follow(
        self, response: httpx.Response, take: Callable[[str], bool], until: asyncio.Timeout
    ) -> Written:
        """Comments that keep the connection alive are no words: they give no more time."""
        events, completion = Events(), Completion()
        async for piece in response.aiter_bytes():
            for data in events.feed(piece):
                words = completion.read(data)
                until.reschedule(self._loop.time() + self._patience.idle_s)
                if words and take(words):
                    return Written(why="stopped")
        if not completion.ended:
            broke_off = "the chat server's answer broke off"
            raise WritingFailed("llm_unreachable", broke_off, retryable=True)
        return completion.written()


class NotBegun(Exception):
    """The request cannot have run, so it may be sent again, after `wait_s` if the server said so."""

    def __init__(self, failed: WritingFailed, wait_s: float | None = None) -> None:
        super().__init__(failed.message)
        self.failed, self.wait_s = failed, wait_s


async def _again_and_again(attempt: Callable[[], Coroutine[Any, Any, T]]) -> T:
    for usual_s in (*RETRY_AFTER_S, None):
        try:
            return await attempt()
        except NotBegun as not_begun:
            if usual_s is None:
                raise not_begun.failed from not_begun
            wait_s = not_begun.wait_s
            # Apart from each other, so that all who were refused do not come back at once.
            await asyncio.sleep(usual_s * random.uniform(0.75, 1.25) if wait_s is None else wait_s)
    raise AssertionError("the last attempt returns or raises")


def _client(trust_environment: bool, patience: Patience) -> httpx.AsyncClient:
    timeout = httpx.Timeout(None, connect=patience.connect_s)
    return httpx.AsyncClient(timeout=timeout, trust_env=trust_environment)


def unreachable(error: httpx.HTTPError) -> Exception:
    """What a connection that failed means."""
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        failed = WritingFailed("llm_unreachable", "no connection to the chat server", retryable=True)
        return NotBegun(failed)
    broke = "the chat server's answer did not come, or broke off"
    return WritingFailed("llm_unreachable", broke, retryable=True)


def refuse_errors(response: httpx.Response) -> None:
    """Raises WritingFailed, or NotBegun where the server had no time, unless an answer follows."""
    status = response.status_code
    if status == httpx.codes.OK:
        return
    busy = status in _BUSY
    told = f"the chat server answered HTTP {status}"
    failed = WritingFailed("llm_refused", told, retryable=busy or status >= 500)
    if not busy:
        raise failed
    wait_s = _retry_after_s(response.headers.get("retry-after", ""))
    if wait_s is not None and wait_s > MOST_RETRY_AFTER_S:
        raise failed  # whoever asked does not wait so long
    raise NotBegun(failed, wait_s)


def _retry_after_s(header: str) -> float | None:
    """Seconds; a date, which servers of this kind do not send, counts as nothing said."""
    try:
        return max(float(header), 0.0)
    except ValueError:
        return None


def _body(endpoint: Endpoint, request: Request) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": endpoint.model,
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
    return body | request.sampling
