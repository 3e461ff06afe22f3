"""How long those who wait will have to: each takes the place that is free first, for as long as is usual."""

from __future__ import annotations

import heapq

from antiphon.events.ids import SessionId

from .queue import Queue, usual_s

OVERRUN_S = 15.0
"""What a session is given that has taken longer than usual already."""


def waits_s(queue: Queue, now_ns: int) -> dict[SessionId, float]:
    """Seconds until each of those who wait is served. 0: nobody is served, so nobody knows."""
    free = [left_s(queue, session, now_ns) for session in queue.served]
    if not free:
        return dict.fromkeys(queue.waiting, 0.0)
    heapq.heapify(free)
    waits: dict[SessionId, float] = {}
    for session, waiting in queue.waiting.items():
        waits[session] = free[0]
        heapq.heapreplace(free, free[0] + usual_s(queue, waiting.mode))
    return waits


def left_s(queue: Queue, session: SessionId, now_ns: int) -> float:
    """How much longer a session that is served will take."""
    served = queue.served[session]
    left = usual_s(queue, served.mode) - (now_ns - served.since_ns) / 1e9
    return left if left > 0 else OVERRUN_S
