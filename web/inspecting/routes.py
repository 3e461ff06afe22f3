"""The routes of the sessions pages. Every one of them takes an operator's key (web/auth.py).

GET    /api/logs                          the sessions: ?search=, ?before=, ?limit=
GET    /api/logs/ID                       what there is of one
GET    /api/logs/ID/follow                its course, as JSON lines, until it is over (following.py)
GET    /api/logs/ID/events                rows of the table: ?from=SEQ&to=SEQ&limit=, all=1 for each event
GET    /api/logs/ID/events/SEQ            one event whole, with what led to it and what came of it
GET    /api/logs/ID/state                 what the server knew: ?at=SEQ
(and what is heard and seen of it, and taken away: media.py)

It is the latest life of the session that is told of; with life=N that one, or nothing.
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
from antiphon.events.store import Log
from antiphon.replay.inspect.rows import Row, row
from antiphon.replay.lines import as_json, is_quiet
from antiphon.replay.states import unusual
from antiphon.web.callers import Missing, Request, operator

from . import following
from .asked import check_life, flag, looked_into, number, session_of
from .desk import Desk, Inspection

MOST_ROWS = 500
FARTHEST = 2**53
EFFECTS_WITHIN = 2_000
"""How many events behind one are looked through for what came of it, and before it for what led to it."""
MOST_CAUSES = 50


@get("/api/logs")
async def sessions(request: Request, state: State) -> dict[str, Any]:
    operator(request, state.server.doors)
    search = request.query_params.get("search", "")[:200].strip()
    before, limit = number(request, "before", 0, 2**63), number(request, "limit", 50, 200, 1)
    listed: dict[str, Any] = await asyncio.to_thread(state.server.catalogue.listed, search, before, limit)
    return listed


@get("/api/logs/{name:str}", sync_to_thread=True)
def session(request: Request, state: State, name: str) -> dict[str, Any]:
    store, session = state.server.recorded, session_of(request, state, name)
    head = store.head(session)
    check_life(request, head.incarnation)
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
async def follow(request: Request, state: State, name: str) -> Stream:
    """From event `from` on; what came before it is left out."""
    desk: Desk = state.server.desk
    session = session_of(request, state, name)
    since = number(request, "from", 0, FARTHEST)
    # Whoever asks for what is not there is told so at once.
    check_life(request, state.server.recorded.head(session).incarnation)

    async def stream() -> AsyncIterator[bytes]:
        async with desk.look(session) as inspection:
            async for line in following.lines(inspection, since):
                yield line

    return Stream(stream(), media_type="application/x-ndjson")


@get("/api/logs/{name:str}/events")
async def events(request: Request, state: State, name: str) -> list[Row]:
    """The next `limit` from event `from` on, once event `to` has been read: there may be some behind it, too.

    Without `all` those of which there are not many a second.
    """
    session, everything = session_of(request, state, name), flag(request, "all")
    start, limit = number(request, "from", 0, FARTHEST), number(request, "limit", 100, MOST_ROWS, 1)
    async with looked_into(request, state, session) as inspection:
        await inspection.reach(number(request, "to", FARTHEST, FARTHEST))
        life = inspection.life
        stop = start + limit
        if not everything:
            stop = max(life.notable_after(start, limit), default=start - 1) + 1
        stop = min(stop, life.next_seq)
        return await asyncio.to_thread(_rows, state.server.recorded, inspection, start, stop, everything)


@get("/api/logs/{name:str}/events/{seq:int}")
async def event(request: Request, state: State, name: str, seq: int) -> Response[bytes]:
    """`causes`: what led to it, the nearest first. `effects`: what names it as its cause, if it came soon."""
    session = session_of(request, state, name)
    async with looked_into(request, state, session) as inspection:
        await inspection.reach(seq + EFFECTS_WITHIN)
        if not 0 <= seq < inspection.life.next_seq:
            raise Missing(f"there is no event {seq}")
        shown = await asyncio.to_thread(_with_family, state.server.recorded, inspection, seq)
        return Response(shown, media_type=MediaType.JSON)


@get("/api/logs/{name:str}/state")
async def state_at(request: Request, state: State, name: str) -> Response[bytes]:
    """Its unusual members, and the conversation as a model is told it. Without `at` after the last event."""
    session, wanted = session_of(request, state, name), number(request, "at", FARTHEST, FARTHEST)
    async with looked_into(request, state, session) as inspection:
        await inspection.reach(wanted)
        last = inspection.life.next_seq - 1
        at = wanted if "at" in request.query_params else last
        if not 0 <= at <= last:
            raise Missing(f"there is no event {at}")
        shown = await asyncio.to_thread(_state, state.server.recorded, inspection, at)
        return Response(shown, media_type=MediaType.JSON)


def _read(store: Log, of: Inspection, start: int, stop: int) -> list[Stored]:
    return list(store.read(of.session, incarnation=of.incarnation, start=max(start, 0), stop=stop))


def _rows(store: Log, of: Inspection, start: int, stop: int, everything: bool) -> list[Row]:
    read = _read(store, of, start, stop)
    return [row(one, of.life.at_ms(one)) for one in read if everything or not is_quiet(one)]


def _with_family(store: Log, of: Inspection, seq: int) -> bytes:
    near = _read(store, of, seq - EFFECTS_WITHIN, min(seq + EFFECTS_WITHIN, of.life.next_seq))
    known: dict[int, Stored] = {one.seq: one for one in near}
    causes: list[Row] = []
    cause = _led_by(known[seq])
    while cause is not None and len(causes) < MOST_CAUSES:
        if cause not in known:
            known |= {one.seq: one for one in _read(store, of, cause - EFFECTS_WITHIN, cause + 1)}
        led = known[cause]
        causes.append(row(led, of.life.at_ms(led)))
        cause = _led_by(led)
    came = (one for one in near if one.seq > seq and _led_by(one) == seq and not is_quiet(one))
    effects = [row(one, of.life.at_ms(one)) for one in islice(came, MOST_CAUSES)]
    shown = {"event": msgspec.Raw(as_json(known[seq])), "causes": causes, "effects": effects}
    return msgspec.json.encode(shown)


def _led_by(stored: Stored) -> int | None:
    """The event that led to this one: its cause, or the work that it is an outcome of."""
    if stored.cause is not None:
        return stored.cause
    operation: int | None = getattr(stored.event, "operation", None)
    return operation if operation is not None and operation < stored.seq else None


def _state(store: Log, of: Inspection, at: int) -> bytes:
    """Raises UnknownCritical."""
    known = of.life.state_before(at + 1)
    for stored in _read(store, of, known.seq, at + 1):
        known = refold(known, stored)
    told = [{"role": line.role, "text": line.text} for line in conversation(known)]
    members = unusual(known)
    for derived in ("seq", "at"):
        members.pop(derived, None)
    return msgspec.json.encode({"after": at, "conversation": told, "state": members})
