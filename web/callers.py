"""Who asks over HTTP, of which session, and what they are answered when they may not."""

from __future__ import annotations

from typing import Any

import litestar
from litestar import Response
from msgspec import Struct

from antiphon.events.errors import Erased, Locked, LogError, NoSuchSession
from antiphon.events.ids import SessionId
from antiphon.events.segments.frame import is_session_id

from .auth import Denied, Doorkeeper

Request = litestar.Request[Any, Any, Any]


class Caller(Struct, frozen=True):
    """`operator`: may see, and end, what is not theirs."""

    principal: str | None
    operator: bool

    def may_see(self, owner: str | None) -> bool:
        return self.operator or self.principal == owner


def caller(request: Request, doors: Doorkeeper) -> Caller:
    """Raises Denied."""
    key = request.query_params.get("api_key")
    try:
        return Caller(doors.admit_operator(request.headers, (), key), operator=True)
    except Denied:
        return Caller(doors.admit(request.headers, (), key), operator=False)


def operator(request: Request, doors: Doorkeeper) -> None:
    """Raises Denied where it is none."""
    doors.admit_operator(request.headers, (), request.query_params.get("api_key"))


def recorded(name: str) -> SessionId:
    """The session of that name, if a store may hold one. Raises Denied."""
    if not is_session_id(name):
        raise Denied(400, "invalid_session_id", "a session id is 1 to 128 of A-Z a-z 0-9 _ -")
    return SessionId(name)


class Missing(Exception):
    """There is nothing of that name, or nothing that the caller may see: that is the same to them."""


class SeveralProcesses(Exception):
    """A server of several processes has none of this."""


def answer(status: int, code: str, message: str) -> Response[dict[str, Any]]:
    return Response({"error": {"code": code, "message": message}}, status_code=status)


def denied(request: Request, why: Denied) -> Response[dict[str, Any]]:
    return answer(why.status, why.code, why.message)


def missing(request: Request, why: Missing) -> Response[dict[str, Any]]:
    return answer(404, "not_found", str(why) or "there is nothing of that name")


def several(request: Request, why: SeveralProcesses) -> Response[dict[str, Any]]:
    return answer(501, "several_processes", str(why))


def not_in_the_log(request: Request, why: LogError) -> Response[dict[str, Any]]:
    """What a log store answers instead of what was asked for, under its own code."""
    return answer(STATUS.get(type(why), 422), why.code, f"{why}" + (f" ({why.hint})" if why.hint else ""))


STATUS: dict[type[LogError], int] = {NoSuchSession: 404, Locked: 409, Erased: 410}
HANDLERS: Any = {
    Denied: denied, Missing: missing, SeveralProcesses: several, LogError: not_in_the_log
}  # fmt: skip
