"""The routes of the sessions pages. Every one of them takes an operator's key (web/auth.py).

GET    /api/logs                          the sessions: ?search=, ?before=, ?limit=
GET    /api/logs/ID                       what there is of one
GET    /api/logs/ID/follow                its course, as JSON lines, until it is over (following.py)
GET    /api/logs/ID/events                rows of the table: ?from=SEQ&to=SEQ&limit=, all=1 for each event
GET    /api/logs/ID/events/SEQ            one event whole, with what led to it and what came of it
GET    /api/logs/ID/state                 what the server knew: ?at=SEQ
(and what is heard and seen of it, and taken away: media.py)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import islice
from typing import Any

import msgspec
from litestar import MediaType, Response, get
from litestar.datastructures import State
from litestar.response import Stream

from antiphon.actors.session.evolve import refold
from antiphon.actors.session.history import conversation
from antiphon.events.envelope import Stored
from antiphon.events.ids import SessionId
from antiphon.events.store import Log
from antiphon.replay.inspect.life import LifeView
from antiphon.replay.inspect.rows import Row, row
from antiphon.replay.lines import as_json, is_quiet
from antiphon.replay.states import unusual
from antiphon.web.callers import Asked, Missing, operator

from . import following
from .asked import flag, number, session_of
from .desk import Desk

MOST_ROWS = 500
FARTHEST = 2**53
EFFECTS_WITHIN = 2_000
"""Events behind one in which is looked for what came of it."""
MOST_CAUSES = 50


@get("/api/logs")
async def sessions(request: Asked, state: State) -> dict[str, Any]:
    operator(request, state.server.doors)
    search = request.query_params.get("search", "")[:200].strip()
    before, limit = number(request, "before", 0, 2**63), number(request, "limit", 50, 200, 1)
    listed: dict[str, Any] = await asyncio.to_thread(state.server.catalogue.listed, search, before, limit)
    return listed


@get("/api/logs/{name:str}")
async def session(request: Asked, state: State, name: str) -> dict[str, Any]:
    store, session = state.server.store, session_of(request, state, name)
    head = await asyncio.to_thread(store.head, session)
    return {
        "session": session,
        "life": head.incarnation,
        "lives": len(store.lives(session)),
        "events": head.next_seq,
        "audio_bytes": head.audio_bytes,
        "sealed": head.sealed,
        "erased": head.erased,
    }


@get("/api/logs/{name:str}/follow")
async def follow(request: Asked, state: State, name: str) -> Stream:
    """From event `from` on; what came before it is left out."""
    desk: Desk = state.server.desk
    session = session_of(request, state, name)
    since = number(request, "from", 0, FARTHEST)
    state.server.store.head(session)  # whoever asks for what is not there is told so at once

    async def stream() -> AsyncIterator[bytes]:
        async with desk.look(session) as inspection:
            async for line in following.lines(inspection, since):
                yield line

    return Stream(stream(), media_type="application/x-ndjson")


@get("/api/logs/{name:str}/events")
async def events(request: Asked, state: State, name: str) -> list[Row]:
    """At most `limit`, up to event `to`. Without `all` those of which there are not many a second."""
    session, everything = session_of(request, state, name), flag(request, "all")
    start, limit = number(request, "from", 0, FARTHEST), number(request, "limit", 100, MOST_ROWS, 1)
    async with state.server.desk.look(session) as inspection:
        await inspection.reach(number(request, "to", FARTHEST, FARTHEST))
        life = inspection.life
        stop = start + limit
        if not everything:
            notable = islice(life.notable_after(start), limit)
            stop = max(notable, default=start - 1) + 1
        read = await asyncio.to_thread(_read, state.server.store, session, start, min(stop, life.next_seq))
        return [row(stored, life.at_ms(stored)) for stored in read if everything or not is_quiet(stored)]


@get("/api/logs/{name:str}/events/{seq:int}")
async def event(request: Asked, state: State, name: str, seq: int) -> Response[bytes]:
    """`causes`: what led to it, the nearest first. `effects`: what names it as its cause, if it came soon."""
    session = session_of(request, state, name)
    async with state.server.desk.look(session) as inspection:
        await inspection.reach(seq + EFFECTS_WITHIN)
        life = inspection.life
        if not 0 <= seq < life.next_seq:
            raise Missing(f"there is no event {seq}")
        shown = await asyncio.to_thread(_with_family, state.server.store, life, session, seq)
        return Response(msgspec.json.encode(shown), media_type=MediaType.JSON)


@get("/api/logs/{name:str}/state")
async def state_at(request: Asked, state: State, name: str) -> Response[bytes]:
    """Its unusual members, and the conversation as a model is told it."""
    session = session_of(request, state, name)
    async with state.server.desk.look(session) as inspection:
        at = number(request, "at", max(inspection.life.next_seq - 1, 0), FARTHEST)
        await inspection.reach(at)
        if at >= inspection.life.next_seq:
            raise Missing(f"there is no event {at}")
        shown = await asyncio.to_thread(_state, state.server.store, inspection.life, session, at)
        return Response(msgspec.json.encode(shown), media_type=MediaType.JSON)


def _read(store: Log, session: SessionId, start: int, stop: int) -> list[Stored]:
    return list(store.read(session, start=start, stop=stop))


def _with_family(store: Log, life: LifeView, session: SessionId, seq: int) -> dict[str, Any]:
    stop = min(seq + EFFECTS_WITHIN, life.next_seq)
    found, *after = _read(store, session, seq, stop)
    causes: list[Row] = []
    cause = _led_by(found)
    while cause is not None and len(causes) < MOST_CAUSES:
        [led] = _read(store, session, cause, cause + 1)
        causes.append(row(led, life.at_ms(led)))
        cause = _led_by(led)
    effects = [row(one, life.at_ms(one)) for one in after if _led_by(one) == seq and not is_quiet(one)]
    return {"event": msgspec.Raw(as_json(found)), "causes": causes, "effects": effects[:MOST_CAUSES]}


def _led_by(stored: Stored) -> int | None:
    """The event that led to this one: its cause, or the work that it is an outcome of."""
    if stored.cause is not None:
        return stored.cause
    operation: int | None = getattr(stored.event, "operation", None)
    return operation if operation is not None and operation < stored.seq else None


def _state(store: Log, life: LifeView, session: SessionId, at: int) -> dict[str, Any]:
    known = life.state_before(at + 1)
    for stored in store.read(session, start=known.seq, stop=at + 1):
        known = refold(known, stored)
    told = [{"role": line.role, "text": line.text} for line in conversation(known)]
    members = unusual(known)
    for derived in ("seq", "at"):
        members.pop(derived, None)
    return {"after": at, "conversation": told, "state": members}
