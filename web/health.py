"""/live, /health and /metrics. None of them calls a stage: they say what the process already knows."""

from __future__ import annotations

import math
from typing import Any

from prometheus_client import generate_latest

from antiphon.actors.host import SessionHost
from antiphon.events.segments.log import SegmentLog

from .disk import Disk
from .metrics import Metrics
from .settings import Settings

NOTICES = {
    "cascade": (
        "The embedded language model is a demonstration: it is fluent and fast, and about half of its "
        "answers make sense. For real answers start the server with --llm-url."
    ),
    "echo": "This server plays your own voice back.",
    "chat": "This server writes its answers; it has no ears and no voice.",
    "scripted": "This server answers with a fixed script.",
}

DISK_LOW = "The disk is nearly full: no new conversation can begin until there is more room."


def health(host: SessionHost, settings: Settings, disk: Disk) -> tuple[int, dict[str, Any]]:
    """The HTTP status and what to say: 200 only when every configured stage is ready.

    The sessions are those of all processes. A disk without room does not change the status, as a server
    without a free place does not: both refuse the next caller in words, and conversations go on.
    """
    stages = {role: {"state": link.state, "progress": link.detail} for role, link in host.links.items()}
    failed = any(link.state == "failed" for link in host.links.values())
    status = "ready" if host.ready else "failed" if failed else "loading"
    external = bool(settings.stage_settings("cascade").get("llm_url"))
    said: dict[str, Any] = {"status": status, "stages": stages, "sessions": host.live_everywhere}
    said["disk"] = {"free_bytes": disk.free_bytes(), "low": disk.is_low}
    if disk.is_low:
        said["notice"] = DISK_LOW
    elif not external and settings.stage in NOTICES:
        said["notice"] = NOTICES[settings.stage]
    return (200 if host.ready else 503), said


def exposition(metrics: Metrics, host: SessionHost, store: SegmentLog, disk: Disk) -> bytes:
    """The metrics page, with the figures that others keep read off now."""
    metrics.live.set(host.live)
    metrics.waiting.set(len(host.reception.queue.waiting))
    metrics.slow_writes.set(store.stats.slow_writes)
    metrics.backlog.set(store.stats.backlog)
    free = disk.free_bytes()
    metrics.disk_free.set(math.nan if free is None else free)
    metrics.disk_low.set(disk.is_low)
    for role, link in host.links.items():
        metrics.in_flight.labels(role).set(link.in_flight)
    return generate_latest(metrics.registry)
