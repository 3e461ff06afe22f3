"""The serving process: imported once, by the fork server, and run in each copy of it (fork_server.py)."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys

import msgspec
import structlog
import uvicorn
import uvloop
from litestar import Litestar

from antiphon.actors.processes.lifeline import ServingPlan, end_with_launcher
from antiphon.events.segments.descriptors import raise_descriptor_limit

from . import handshake, logs, tls
from .app import create_app
from .direct import DirectWebSocket
from .patience import PatientHttp
from .realtime.decode import LARGEST_FRAME
from .settings import Settings

GRACE_S = 2


class Announced(uvicorn.Server):
    """Says where it is once it answers there, and not before. Of many processes one says so, once."""

    def __init__(self, config: uvicorn.Config, settings: Settings, plan: ServingPlan, scheme: str) -> None:
        super().__init__(config)
        self._settings, self._plan, self._scheme = settings, plan, scheme

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port, stage = self._settings.host, self._settings.port, self._settings.stage
            named = f"[{host}]" if ":" in host else host
            facts = {"host": host, "port": port, "worker": self._plan.worker}
            structlog.get_logger(__name__).info("server.listening", **facts)
            if self._plan.worker or self._plan.again:
                return
            sys.stderr.write(f"antiphon: {self._scheme}://{named}:{port}/  (stage: {stage})\n")
            sys.stderr.flush()


Litestar([])  # it imports a good deal only when there is an application: here once, and not in each process


def serve(plan: ServingPlan) -> None:
    """Answer clients until told to stop."""
    settings = msgspec.convert(plan.settings, Settings)
    logs.configure(settings.log_level)
    before, now = raise_descriptor_limit()
    structlog.get_logger(__name__).info("server.descriptors", limit=now, before=before)
    listening = socket.socket(fileno=plan.listen_fd)
    listening.setblocking(False)
    secured = tls.context(settings)
    config = uvicorn.Config(
        create_app(settings, plan),
        ws=DirectWebSocket,  # on websockets-sansio, the cheapest per frame of uvicorn's three
        ws_per_message_deflate=False,
        ws_max_size=LARGEST_FRAME + 1024 * 1024,
        http=PatientHttp if secured is None else handshake.behind(secured),  # type: ignore[arg-type]  # on h11
        access_log=False,  # it would write query strings, and they may hold keys
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    end_with_launcher(plan.lifeline_fd, lambda: signal.raise_signal(signal.SIGTERM))
    server = Announced(config, settings, plan, "http" if secured is None else "https")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(server.serve(sockets=[listening]))
