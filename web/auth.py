"""Who may come in: Host and Origin first, then the key. Decided before a WebSocket is accepted.

A browser page of another origin must not be able to talk to a server on the user's own machine, and a name
that somebody else's DNS points here must not either. Keys come as `Authorization: Bearer`, as `api-key`,
as the subprotocol `openai-insecure-api-key.KEY`, or as `api_key` or `worker_auth_id` in the query; they are
compared in constant time and only a hash of them is ever kept.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from .settings import LOOPBACK, Settings

LONGEST_PATH = 255
SUBPROTOCOL_KEY = "openai-insecure-api-key."
KEY_OF_MOSHI = "worker_auth_id"
"""The one member of the query that the official browser client of Moshi passes on, for such a purpose."""


class Denied(Exception):
    """Not let in. `status` is the HTTP status to answer with."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class Doorkeeper:
    """Checks requests against the settings."""

    def __init__(self, settings: Settings) -> None:
        self._keys = [hashlib.sha256(key.encode()).digest() for key in settings.keys]
        self._operators = [hashlib.sha256(key.encode()).digest() for key in settings.operator_keys]
        self._is_open = not settings.keys and {settings.host, *settings.hosts} <= {*LOOPBACK}
        own = LOOPBACK if settings.host in (*LOOPBACK, "0.0.0.0", "::") else (settings.host,)
        self._hosts = {name.lower() for name in (*own, *settings.hosts)}
        self._any_host = settings.host in ("0.0.0.0", "::") and not settings.hosts
        self._origins = {origin.lower().rstrip("/") for origin in settings.origins}

    def admit(
        self, headers: Mapping[str, str], subprotocols: Sequence[str] = (), query_key: str | None = None
    ) -> str | None:
        """The principal: a hash of the key, None where no key is asked for. Raises Denied."""
        self.check_origin(headers)
        return _known(_key(headers, subprotocols, query_key), self._keys) if self._keys else None

    def admit_operator(
        self, headers: Mapping[str, str], subprotocols: Sequence[str] = (), query_key: str | None = None
    ) -> str | None:
        """The same of who may see sessions that are not theirs: it takes an operator's key.

        Where there are no keys at all and only this machine can connect, nobody need have one. A server that
        is called by another name has a proxy in front, and what comes through that comes from anywhere.
        """
        self.check_origin(headers)
        if not self._operators and self._is_open:
            return None
        if not self._operators:
            raise Denied(403, "no_operators", "nobody may see others' sessions: there are no operator keys")
        return _known(_key(headers, subprotocols, query_key), self._operators)

    def check_origin(self, headers: Mapping[str, str]) -> None:
        """Refuse names that are not ours and pages that are not ours."""
        host = headers.get("host", "").lower()
        if not self._any_host and _hostname(f"//{host}") not in self._hosts:
            raise Denied(403, "host_not_allowed", "this server does not answer to that host name")
        origin = headers.get("origin", "").lower()
        if not origin or origin.rstrip("/") in self._origins:
            return  # programs send none
        if not host or _netloc(origin) != host:
            raise Denied(403, "origin_not_allowed", "pages of that origin may not connect")

    def check_path(self, path: str) -> None:
        """Refuse what no file can be called: the file system would fail, not miss."""
        if "\0" in path or len(path.encode()) > LONGEST_PATH:
            raise Denied(404, "not_found", "there is nothing of that name")


def _known(given: str | None, keys: Sequence[bytes]) -> str:
    """The hash of a key, if it is one of those. Raises Denied."""
    if given is None:
        raise Denied(401, "missing_api_key", "an API key is needed")
    digest = hashlib.sha256(given.encode()).digest()
    matches = [hmac.compare_digest(digest, known) for known in keys]  # all, in constant time
    if not any(matches):
        raise Denied(401, "invalid_api_key", "the API key is not known here, or opens something else")
    return digest.hex()[:32]


def _hostname(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _netloc(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def _key(headers: Mapping[str, str], subprotocols: Sequence[str], query_key: str | None) -> str | None:
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and bearer:
        return bearer.strip()
    for protocol in subprotocols:
        if protocol.startswith(SUBPROTOCOL_KEY):
            return protocol.removeprefix(SUBPROTOCOL_KEY)
    return headers.get("api-key") or query_key
