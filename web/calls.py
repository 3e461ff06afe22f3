"""Half-duplex calls over HTTP: `POST /api/half_duplex/stop` with {"session_id": ID} ends one.

Its client is told `stopped`, as if it had asked itself. A call that waits for its place leaves the line.
"""

from __future__ import annotations

from typing import Any

from litestar import post
from litestar.datastructures import State
from msgspec import Struct

from antiphon.events.ids import SessionId

from .callers import Missing, Request, caller
from .several import WITHIN_S

MODE = "half_duplex"


class Stopping(Struct):
    session_id: str


@post("/api/half_duplex/stop", status_code=200)
async def stop_call(request: Request, state: State, data: Stopping) -> dict[str, Any]:
    server, session = state.server, SessionId(data.session_id)
    who = caller(request, server.doors)
    reception = server.host.reception
    waiting = reception.queue.waiting.get(session)
    if waiting is not None and who.may_see(waiting.owner):
        reception.cancel(waiting)
    elif not server.host.end(session, MODE, who.principal) and not await server.peers.end_call(
        session, who.principal, WITHIN_S
    ):
        raise Missing("no call of that name is going on")
    return {"session_id": session, "stopped": True}
