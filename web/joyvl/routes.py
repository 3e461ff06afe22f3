"""The routes of an interaction server.

    POST /v1/chat/completions       a tick: frames, and maybe a query
    GET  /v1/models                 the model that watches
    POST /reset, /v1/streaming/reset    forget a session
    POST /v1/streaming/persona      how a session behaves from here on

A session is what its caller calls it: by the header `x-streaming-session` or `x-session-id`, by the body's
`session_id` or `user`; otherwise "default". Callers with different keys have different sessions.
"""

from __future__ import annotations

import asyncio
from typing import Any

from litestar import Response, get, post
from litestar.datastructures import State

from antiphon.actors.admission import CannotOpen
from antiphon.actors.modes.joyvl.commands import Tick
from antiphon.actors.modes.joyvl.personas import PERSONAS
from antiphon.projections.joyvl import frames as f
from antiphon.web.callers import Request, SeveralProcesses, caller
from antiphon.web.intake import READERS

from .body import MOST_BODY, BadBody, NoFrame, read, read_object, session_in
from .watcher import Busy, as_bytes, status_of
from .watchers import LONGEST_NAME, Watchers

HEADERS = ("x-streaming-session", "x-session-id")
DEFAULT = "default"
SMALL = 2048
"""Bytes of a body that is read at once."""
Answer = Response[Any]


@post("/v1/chat/completions", status_code=200, request_max_body_size=MOST_BODY)
async def complete(request: Request, state: State) -> Answer:
    """`stream` is passed over: an answer is one JSON object."""
    principal, watchers = _asked(request, state)
    raw = await request.body()
    try:
        asked = await _aside(raw)
        name = _name(request, asked.session)
        watcher = watchers.open(principal, name)
        answer = await watcher.tick(Tick(frames=asked.frames, query=asked.query))
    except NoFrame as missing:
        return Response({"error": missing.message}, status_code=400)
    except BadBody as bad:
        return _refused(400, bad.code, bad.message, bad.param)
    except Busy:
        return _refused(429, "active_response", "frames of this session wait already", None)
    except CannotOpen as cannot:
        return _told(503, f.failed(cannot.code, str(cannot)))
    watchers.note(answer)
    return _told(status_of(answer), answer)


@get("/v1/models", sync_to_thread=False)
def models(request: Request, state: State) -> dict[str, Any]:
    _, watchers = _asked(request, state)
    model = {"id": watchers.model, "object": "model", "owned_by": "antiphon"}
    return {"object": "list", "data": [model]}


@post(["/reset", "/v1/streaming/reset"], status_code=200)
async def reset(request: Request, state: State) -> Answer:
    """Once the tick under way has been answered. Of a session that there is not it is nothing."""
    principal, watchers = _asked(request, state)
    try:
        name = _name(request, session_in(await _object(request)))
    except BadBody as bad:
        return _refused(400, bad.code, bad.message, bad.param)
    watcher = watchers.find(principal, name)
    if watcher is not None:
        await watcher.end("reset")
    return Response({"status": "reset"})


@post("/v1/streaming/persona", status_code=200)
async def set_persona(request: Request, state: State) -> Answer:
    """A session that there is not begins with it."""
    principal, watchers = _asked(request, state)
    try:
        body = await _object(request)
        name, persona = _name(request, session_in(body)), body.get("persona", DEFAULT)
        watcher = watchers.open(principal, name)
    except BadBody as bad:
        return _refused(400, bad.code, bad.message, bad.param)
    except CannotOpen as cannot:
        return _told(503, f.failed(cannot.code, str(cannot)))
    if not isinstance(persona, str) or persona not in PERSONAS:
        return Response({"status": "unknown_persona"})
    await watcher.set_persona(persona)
    return Response({"status": "ok"})


def _asked(request: Request, state: State) -> tuple[str | None, Watchers]:
    """Raises Denied, SeveralProcesses."""
    principal = caller(request, state.server.doors).principal
    if not state.server.host.reception.alone:
        raise SeveralProcesses("a server of several serving processes has no watchers")
    watchers: Watchers = state.server.watchers
    return principal, watchers


def _name(request: Request, in_body: str) -> str:
    """What the caller calls the session. Raises BadBody."""
    given = (request.headers.get(header, "") for header in HEADERS)
    name = next((one for one in given if one), in_body) or DEFAULT
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise BadBody("invalid_value", f"a session's name has at most {LONGEST_NAME} plain characters")
    return name


async def _object(request: Request) -> dict[str, Any]:
    """The body, which may be missing. Raises BadBody."""
    raw = await request.body()
    return read_object(raw) if raw.strip() else {}


async def _aside(raw: bytes) -> Any:
    """Images are decoded in a thread."""
    if len(raw) <= SMALL:
        return read(raw)
    return await asyncio.get_running_loop().run_in_executor(READERS, read, raw)


def _refused(status: int, code: str, message: str, param: str | None) -> Answer:
    return _told(status, f.failed(code, message, "invalid_request_error", param))


def _told(status: int, answer: f.Frame) -> Answer:
    return Response(as_bytes(answer), status_code=status, media_type="application/json")


ROUTES = (complete, models, reset, set_persona)
