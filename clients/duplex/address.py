"""Where a session is: the URL that opens one, and whether a proxy may stand before it."""

from __future__ import annotations

import ipaddress
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
PATH = "/v1/realtime"


def build_realtime_url(base: str, *, model: str | None = None) -> str:
    """The duplex endpoint of a server: `ws://HOST:PORT` or `http://HOST:PORT`, with any path or none.

    `autostart=0` is always in it: the session is to open as the first message says, not before.
    Raises ValueError for another scheme.
    """
    parts = urlsplit(base)
    scheme = SCHEMES.get(parts.scheme)
    if scheme is None or not parts.hostname:
        raise ValueError(f"a server's address begins with ws://, wss://, http:// or https://, not {base!r}")
    ours = {"duplex": "1", "autostart": "0", **({"model": model} if model else {})}
    query = {**dict(parse_qsl(parts.query)), **ours}
    path = parts.path if parts.path not in ("", "/") else PATH
    return urlunsplit((scheme, parts.netloc, path, urlencode(query), ""))


def is_loopback(url: str) -> bool:
    """Whether the server is on this machine: no proxy of the environment is asked on the way there."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
