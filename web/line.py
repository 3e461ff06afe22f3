"""The line before the places, over HTTP: who waits, for how long yet, and leaving it.

    GET    /api/queue             everybody who waits and who is served
    GET    /api/queue/TICKET      where one stands
    DELETE /api/queue/TICKET      leaves the line; who waited with it is told so, and its connection closed

Tickets and sessions of others are shown without their names, but to operators.
"""

from __future__ import annotations

import time
from typing import Any

from litestar import delete, get
from litestar.datastructures import State

from antiphon.actors.queueing.estimate import left_s, waits_s
from antiphon.actors.queueing.queue import Queue, Waiting
from antiphon.actors.queueing.reception import Reception

from .apps import APPS
from .callers import Caller, Missing, Request, SeveralProcesses, caller

Json = dict[str, Any]
APP_OF = {mode: app for app, mode in APPS.items()}


@get("/api/queue", sync_to_thread=False)
def whole_line(request: Request, state: State) -> Json:
    who, reception = _asked(request, state)
    queue, now_ns = reception.queue, time.monotonic_ns()
    running = [
        {
            "session_id": session if who.operator else None,
            "request_type": APP_OF.get(served.mode, served.mode),
            "elapsed_s": round((now_ns - served.since_ns) / 1e9, 1),
            "estimated_remaining_s": round(left_s(queue, session, now_ns), 1),
        }
        for session, served in queue.served.items()
    ]
    return {
        "queue_length": len(queue.waiting),
        "max_queue_size": reception.most,
        "items": _items(queue, who, now_ns),
        "running_tasks": running,
    }


@get("/api/queue/{ticket:str}", sync_to_thread=False)
def one_of_the_line(request: Request, state: State, ticket: str) -> Json:
    who, reception = _asked(request, state)
    found = _found(reception.queue, who, ticket)
    items = _items(reception.queue, who, time.monotonic_ns())
    return next(item for item in items if item["session_id"] == found.session)


@delete("/api/queue/{ticket:str}", status_code=200, sync_to_thread=False)
def leave_the_line(request: Request, state: State, ticket: str) -> Json:
    who, reception = _asked(request, state)
    reception.cancel(_found(reception.queue, who, ticket))
    return {"ticket_id": ticket, "cancelled": True}


def _asked(request: Request, state: State) -> tuple[Caller, Reception]:
    who, reception = caller(request, state.server.doors), state.server.host.reception
    if not reception.alone:
        raise SeveralProcesses("a server of several serving processes keeps no line")
    return who, reception


def _found(queue: Queue, who: Caller, ticket: str) -> Waiting:
    for waiting in queue.waiting.values():
        if waiting.ticket == ticket and who.may_see(waiting.owner):
            return waiting
    raise Missing("nobody waits with that ticket")


def _items(queue: Queue, who: Caller, now_ns: int) -> list[Json]:
    waits = waits_s(queue, now_ns)
    return [
        {
            "ticket_id": waiting.ticket if who.may_see(waiting.owner) else None,
            "session_id": session if who.may_see(waiting.owner) else None,
            "request_type": APP_OF.get(waiting.mode, waiting.mode),
            "position": place,
            "estimated_wait_s": round(waits[session], 1),
            "waited_s": round((now_ns - waiting.since_ns) / 1e9, 1),
        }
        for place, (session, waiting) in enumerate(queue.waiting.items(), 1)
    ]
