"""/live, /health and /metrics. None of them calls a stage: they say what the process already knows."""

from __future__ import annotations

from typing import Any

from prometheus_client import generate_latest

from antiphon.actors.host import SessionHost
from antiphon.events.segments.log import SegmentLog

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


def health(host: SessionHost, settings: Settings) -> tuple[int, dict[str, Any]]:
    """The HTTP status and what to say: 200 only when every configured stage is ready."""
    stages = {role: {"state": link.state, "progress": link.detail} for role, link in host.links.items()}
    failed = any(link.state == "failed" for link in host.links.values())
    status = "ready" if host.ready else "failed" if failed else "loading"
    external = bool(settings.stage_settings("cascade").get("llm_url"))
    said: dict[str, Any] = {"status": status, "stages": stages, "sessions": host.live}
    if not external and settings.stage in NOTICES:
        said["notice"] = NOTICES[settings.stage]
    return (200 if host.ready else 503), said


def exposition(metrics: Metrics, host: SessionHost, store: SegmentLog) -> bytes:
    """The metrics page, with the figures that others keep read off now."""
    metrics.live.set(host.live)
    metrics.slow_writes.set(store.stats.slow_writes)
    metrics.backlog.set(store.stats.backlog)
    for role, link in host.links.items():
        metrics.in_flight.labels(role).set(link.in_flight)
    return generate_latest(metrics.registry)
