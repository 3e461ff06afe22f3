"""Opening a socket to a server, and what its refusals come to."""

from __future__ import annotations

import json
import ssl
from collections.abc import Awaitable, Callable
from typing import Protocol

from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.http11 import Response

from .address import is_loopback
from .errors import DuplexClientError, DuplexConnectionError, DuplexProtocolError

LARGEST_MESSAGE = 64 * 1024 * 1024
HANG_UP_S = 2.0
"""A server that does not answer a close is left after that."""
TRIED_AGAIN = (408, 425, 429)


class Socket(Protocol):
    """What is wanted of a connection. Both ways raise ConnectionClosed (of websockets) when it is gone."""

    async def send(self, message: str, /) -> None: ...
    async def recv(self) -> str | bytes: ...
    async def close(self, code: int = 1000, reason: str = "") -> None: ...


Connect = Callable[[str], Awaitable[Socket]]


def opener(*, api_key: str | None, tls: ssl.SSLContext | None, timeout_s: float) -> Connect:
    """Opens sockets with that key, which travels in a header: URLs end up in logs.

    No compression: audio does not shrink. No proxy on the way to this machine itself. What is opened raises
    DuplexConnectionError where trying again may help, and DuplexProtocolError where it will not.
    """
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}

    async def open_socket(url: str) -> Socket:
        try:
            return await connect(
                url,
                additional_headers=headers,
                compression=None,
                max_size=LARGEST_MESSAGE,
                open_timeout=timeout_s,
                close_timeout=HANG_UP_S,
                proxy=None if is_loopback(url) else True,
                ssl=(tls or True) if url.startswith("wss:") else None,
            )
        except InvalidStatus as refused:
            raise _refusal(refused.response) from refused
        except (OSError, WebSocketException, TimeoutError, EOFError) as error:
            raise DuplexConnectionError(f"no connection to {_place(url)}: {error}") from error

    return open_socket


def _place(url: str) -> str:
    """The URL without its query, where the secrets are."""
    return url.split("?", 1)[0]


def _refusal(response: Response) -> DuplexClientError:
    status = response.status_code
    if status >= 500 or status in TRIED_AGAIN:
        return DuplexConnectionError(f"the server answered HTTP {status}")
    try:
        error = json.loads(response.body or b"")["error"]
        code, message = str(error["code"]), str(error["message"])
    except (ValueError, KeyError, TypeError):
        code, message = f"http_{status}", f"the server answered HTTP {status}"
    return DuplexProtocolError(code, message)
