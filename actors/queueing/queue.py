"""The line as a fold over facts: who waits, in which order, who is served, and how long that usually takes.

A session's position is its place in order of coming among those who wait; nothing else moves it. Facts that
say nothing new (a caller that goes twice, an end of nobody) change nothing. Pure; times are monotonic ns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from antiphon.events.ids import SessionId

from .facts import Began, Ended, Queued, QueueFact, Withdrawn

T = TypeVar("T")

USUAL_S: Mapping[str, float] = {"half_duplex": 180.0, "duplex": 120.0}
"""How long a session of a mode takes before there were enough to know."""
OTHERWISE_S = 30.0
ENOUGH = 3
"""Sessions of a mode from which on their own durations count."""
WEIGHT = 0.3
"""Of the latest in their moving average."""


class Waiting(Struct, frozen=True, gc=False):
    ticket: str
    session: SessionId
    mode: str
    owner: str | None
    since_ns: int


class Served(Struct, frozen=True, gc=False):
    mode: str
    since_ns: int


class Usual(Struct, frozen=True, gc=False):
    """How long sessions of a mode took: how many there were, and their exponential moving average."""

    seen: int = 0
    average_s: float = 0.0


class Queue(Struct, frozen=True):
    """`waiting` and `served` are in order of coming. Never change what they hold."""

    waiting: dict[SessionId, Waiting] = {}
    served: dict[SessionId, Served] = {}
    usual: dict[str, Usual] = {}


def evolve(queue: Queue, fact: QueueFact, now_ns: int) -> Queue:
    session = fact.session
    match fact:
        case Queued(ticket=ticket, mode=mode, owner=owner):
            comes = Waiting(ticket, session, mode, owner, now_ns)
            return replace(queue, waiting={**queue.waiting, session: comes})
        case Withdrawn():
            return replace(queue, waiting=_without(queue.waiting, session))
        case Began(mode=mode):
            served = {**queue.served, session: Served(mode, now_ns)}
            return replace(queue, waiting=_without(queue.waiting, session), served=served)
        case Ended() if session in queue.served:
            ends = queue.served[session]
            known = {**queue.usual, ends.mode: _longer(queue, ends, now_ns)}
            return replace(queue, served=_without(queue.served, session), usual=known)
        case _:
            return queue


def _longer(queue: Queue, ends: Served, now_ns: int) -> Usual:
    """What is usual, with one more that was."""
    usual, took_s = queue.usual.get(ends.mode, Usual()), (now_ns - ends.since_ns) / 1e9
    before_s = usual.average_s if usual.seen else took_s
    return Usual(usual.seen + 1, before_s + WEIGHT * (took_s - before_s))


def _without(among: dict[SessionId, T], session: SessionId) -> dict[SessionId, T]:
    return {one: what for one, what in among.items() if one != session} if session in among else among


def usual_s(queue: Queue, mode: str) -> float:
    """How long a session of that mode takes."""
    usual = queue.usual.get(mode, Usual())
    return usual.average_s if usual.seen >= ENOUGH else USUAL_S.get(mode, OTHERWISE_S)


def positions(queue: Queue) -> dict[SessionId, int]:
    """Of all who wait, from 1."""
    return {session: place for place, session in enumerate(queue.waiting, 1)}
