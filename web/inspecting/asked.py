"""What a request asks for: by whom, of which life of which session, and within which numbers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from litestar.datastructures import State

from antiphon.events.ids import SessionId
from antiphon.web.auth import Denied
from antiphon.web.callers import Request, operator, recorded

from .desk import Desk, Inspection

MOST_LIVES = 10**10


def session_of(request: Request, state: State, name: str) -> SessionId:
    """The session that an operator asks for. Raises Denied."""
    server: Any = state.server
    operator(request, server.doors)
    return recorded(name)


@contextlib.asynccontextmanager
async def looked_into(request: Request, state: State, session: SessionId) -> AsyncIterator[Inspection]:
    """The latest life of a session, followed from now on. Raises LogError; Denied as `check_life` does."""
    desk: Desk = state.server.desk
    async with desk.look(session) as inspection:
        check_life(request, inspection.incarnation)
        yield inspection


def check_life(request: Request, latest: int) -> None:
    """Whoever knows which life they are shown (`life`) is told of no other. Raises Denied (409)."""
    if number(request, "life", latest, MOST_LIVES) != latest:
        raise Denied(409, "other_life", "the id of this session has been used again since")


def number(request: Request, name: str, default: int, most: int, least: int = 0) -> int:
    """A whole number of the query. Raises Denied (400) where it is none, or not within its bounds."""
    given = request.query_params.get(name)
    if given is None:
        return default
    if not (given.isascii() and given.isdigit() and len(given) <= 20 and least <= int(given) <= most):
        raise Denied(400, "invalid_value", f"{name}: wanted a whole number from {least} to {most}")
    return int(given)


def flag(request: Request, name: str) -> bool:
    return request.query_params.get(name) == "1"
