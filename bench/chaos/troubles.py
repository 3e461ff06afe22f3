"""What may happen to a server, each as one thing that is done to it.

A trouble returns when it is over as far as it is ours: a process that was stopped is going on, or has been
killed by whoever watches it. What the server makes of it is not waited for.
"""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from msgspec import Struct

from .caller import Caller
from .disk import SmallDisk
from .service import Service, kill

MOST_STOPPED_S = 20.0
BRIEF_S = (0.1, 3.0)
FULL_S = (0.2, 2.0)


class Field(Struct, frozen=True):
    """What troubles are made in."""

    service: Service
    callers: Sequence[Caller]
    disk: SmallDisk | None
    rng: random.Random


class Trouble(Struct, frozen=True):
    """`kills`: whether it counts as a kill. `by_gap`: a client counts as cut off when it has heard nothing
    for a while; else only when it has also lost its connection."""

    name: str
    happen: Callable[[Field], Awaitable[None]]
    kills: bool = False
    by_gap: bool = False


def _killing(*whom: str) -> Callable[[Field], Awaitable[None]]:
    async def happen(field: Field) -> None:
        doomed = [pid for one in whom for pid in _pids(field, one)]
        for pid in doomed:
            kill(pid)

    return happen


def _stopping(whom: str, *, briefly: bool) -> Callable[[Field], Awaitable[None]]:
    """SIGSTOP; and SIGCONT after a moment, or not before somebody has ended it."""

    async def happen(field: Field) -> None:
        pids = _pids(field, whom)
        for pid in pids:
            kill(pid, signal.SIGSTOP)
        lasts_s = field.rng.uniform(*BRIEF_S) if briefly else MOST_STOPPED_S
        until = time.monotonic() + lasts_s
        while time.monotonic() < until and any(map(_lives, pids)):  # noqa: ASYNC110  # no event is told of it
            await asyncio.sleep(0.02)
        for pid in pids:
            kill(pid, signal.SIGCONT)

    return happen


async def _renew(field: Field) -> None:
    for pid in _pids(field, "serving process"):
        kill(pid, signal.SIGTERM)


async def _reset(field: Field) -> None:
    chosen = field.rng.sample(field.callers, max(1, len(field.callers) // 4))
    for caller in chosen:
        caller.reset()


async def _fill(field: Field) -> None:
    if field.disk is not None:
        field.disk.fill()
        await asyncio.sleep(field.rng.uniform(*FULL_S))
        field.disk.relieve()


TROUBLES = (
    Trouble("serving process killed", _killing("serving process"), kills=True),
    Trouble("all serving processes killed", _killing("all serving processes"), kills=True),
    Trouble("stage killed", _killing("stage"), kills=True, by_gap=True),
    Trouble("stage and serving process killed", _killing("stage", "serving process"), kills=True),
    Trouble("voice detector killed", _killing("detector"), kills=True, by_gap=True),
    Trouble("fork server and serving process killed", _killing("fork server", "serving process"), kills=True),
    Trouble("Admin killed", _killing("admin"), kills=True),
    Trouble("launcher killed", _killing("launcher"), kills=True),
    Trouble("launcher and serving process killed", _killing("launcher", "serving process"), kills=True),
    Trouble("every process killed", _killing("everything"), kills=True),
    Trouble("serving process stopped for good", _stopping("serving process", briefly=False)),
    Trouble("serving process stopped for a moment", _stopping("serving process", briefly=True), by_gap=True),
    Trouble("stage stopped for good", _stopping("stage", briefly=False), by_gap=True),
    Trouble("stage stopped for a moment", _stopping("stage", briefly=True), by_gap=True),
    Trouble("Admin stopped for a moment", _stopping("admin", briefly=True), by_gap=True),
    Trouble("launcher stopped for a moment", _stopping("launcher", briefly=True), by_gap=True),
    Trouble("serving process told to stop", _renew),
    Trouble("connections reset", _reset),
    Trouble("disk full", _fill),
)


def _pids(field: Field, whom: str) -> list[int]:
    """Those that there are just now: a server that is starting may have none."""
    service = field.service
    match whom:
        case "serving process":
            return _one(field, service.serving)
        case "all serving processes":
            return service.serving
        case "stage":
            return service.stage("model")
        case "detector":
            return service.stage("voice")
        case "fork server":
            return service.fork_server
        case "admin":
            return service.admin
        case "launcher":
            return service.launcher
        case _:
            return service.everything


def _one(field: Field, pids: list[int]) -> list[int]:
    return [field.rng.choice(pids)] if pids else []


def _lives(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
