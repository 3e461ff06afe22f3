"""Headers of files: litestar's own `response_headers` reach what handlers answer, and no static file."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from litestar.types import ASGIApp, Message, Receive, Scope, Send


def with_headers(headers: Mapping[str, str]) -> Callable[[ASGIApp], ASGIApp]:
    """A middleware that adds these to every answer."""
    named = [(name.encode(), value.encode()) for name, value in headers.items()]

    def around(app: ASGIApp) -> ASGIApp:
        async def answered(scope: Scope, receive: Receive, send: Send) -> None:
            async def add(message: Message) -> None:
                if message["type"] == "http.response.start":
                    message["headers"] = [*message.get("headers", ()), *named]
                await send(message)

            await app(scope, receive, add)

        return answered

    return around
