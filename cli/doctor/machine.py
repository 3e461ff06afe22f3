"""What the machine gives: descriptors, memory, cores, a place for sockets, the time."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING

from .finding import Finding

if TYPE_CHECKING:
    from antiphon.web.settings import Settings

FEW_DESCRIPTORS, TOO_FEW_DESCRIPTORS = 4_096, 256
"""A session takes two (its socket and its log), the store up to 256, the process some thirty."""
BASE_MB, WORKER_MB, CASCADE_MB = 150, 100, 900
"""Measured (docs/performance.md), with room for conversations."""
AHEAD_S = 60.0
MADE_S = 1_767_225_600.0
"""2026-01-01: no clock that is right is before that."""


def descriptors() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    told = f"{hard} open files at most (the server raises its own limit of {soft})"
    do = "raise the hard limit: LimitNOFILE=65536 in the systemd unit, or ulimit -Hn as root"
    if hard == resource.RLIM_INFINITY or hard >= FEW_DESCRIPTORS:
        return Finding("open files", "ok", told)
    return Finding("open files", "fail" if hard < TOO_FEW_DESCRIPTORS else "warn", told, do)


def memory(settings: Settings) -> Finding:
    """Of the cascade that answers by itself: with --llm-url it needs less."""
    needed = BASE_MB + WORKER_MB * settings.workers
    if settings.stage == "cascade":
        needed += CASCADE_MB
    available = _meminfo("MemAvailable")
    if available is None:
        return Finding("memory", "warn", "the system does not say how much there is")
    told = f"{available:,} MB available, about {needed:,} needed without conversations"
    if available >= needed:
        return Finding("memory", "ok", told)
    return Finding("memory", "warn", told, "stop something else, or serve another stage")


def cores(settings: Settings) -> Finding:
    count = len(os.sched_getaffinity(0))
    told = f"{count} cores, {settings.workers} serving process(es)"
    if settings.workers > count:
        return Finding("cores", "warn", told, "more serving processes than cores only cost: --workers")
    if settings.stage == "cascade" and count < 2:
        return Finding("cores", "warn", told, "the embedded models want a core beside the serving process")
    return Finding("cores", "ok", told)


def sockets() -> Finding:
    """Where the processes of a server meet."""
    from antiphon.actors.processes.runtime_dir import usual_parent

    given, chosen = os.environ.get("XDG_RUNTIME_DIR", ""), usual_parent()
    told = f"the sockets of its processes would lie below {chosen}"
    if not os.access(chosen, os.W_OK):
        return Finding("sockets", "fail", f"{told}, which cannot be written", "set XDG_RUNTIME_DIR")
    if given and str(chosen) != given:
        do = "it must be short (64 bytes) and writable"
        return Finding("sockets", "warn", f"{told}, not below XDG_RUNTIME_DIR", do)
    return Finding("sockets", "ok", told)


def clock(data: Path, now: float | None = None) -> Finding:
    """A clock that has gone back makes sessions last longer than they should, and logs be erased late."""
    wall = time.time() if now is None else now
    newest = max((path.stat().st_mtime for path in data.glob("sessions/*/*/*/events.log")), default=0.0)
    told = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(wall))
    do = "set the clock, and keep it by NTP (systemd-timesyncd, chrony)"
    if newest > wall + AHEAD_S:
        ahead = f"{told}, and a log was written {newest - wall:,.0f} s later than that"
        return Finding("clock", "fail", ahead, do)
    if wall < MADE_S:
        return Finding("clock", "fail", f"{told}, which is before this was made", do)
    return Finding("clock", "ok", told)


def _meminfo(name: str) -> int | None:
    """In megabytes."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    found = next((line for line in lines if line.startswith(f"{name}:")), None)
    return None if found is None else int(found.split()[1]) * 1024 // 1_000_000
