"""What a request asks for: by whom, of which session, and within which numbers."""

from __future__ import annotations

from typing import Any

from litestar.datastructures import State

from antiphon.events.ids import SessionId
from antiphon.web.auth import Denied
from antiphon.web.callers import Asked, operator
from antiphon.web.half_duplex.dialect import named


def session_of(request: Asked, state: State, name: str) -> SessionId:
    """The session that an operator asks for. Raises Denied."""
    server: Any = state.server
    operator(request, server.doors)
    return named(name)


def number(request: Asked, name: str, default: int, most: int, least: int = 0) -> int:
    """A whole number of the query. Raises Denied (400) where it is none, or not within its bounds."""
    given = request.query_params.get(name)
    if given is None:
        return default
    if not (given.isascii() and given.isdigit() and least <= int(given[:20]) <= most):
        raise Denied(400, "invalid_value", f"{name}: wanted a whole number from {least} to {most}")
    return int(given)


def flag(request: Asked, name: str) -> bool:
    return request.query_params.get(name) == "1"
