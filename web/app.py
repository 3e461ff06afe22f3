"""The ASGI application of one serving process."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from litestar import Litestar, Response, WebSocket, get, websocket
from litestar.datastructures import State
from litestar.static_files import create_static_files_router
from litestar.types import ASGIApp, Receive, Scope, Send

from antiphon import __version__
from antiphon.actors.host import Identity, SessionHost
from antiphon.events.segments.log import SegmentLog
from antiphon.projections.dialects import versions

from . import health
from .auth import Denied, Doorkeeper
from .dialects import NATIVE_PATH
from .disk import Disk
from .janitor import Janitor
from .metrics import Metrics
from .reaper import Reaper
from .settings import Settings
from .socket import RealtimeRoute

PAGE_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; connect-src 'self' ws: wss:; media-src 'self' blob:; img-src 'self' data:; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "permissions-policy": "microphone=(self), camera=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}


class Server:
    """What the routes share. Built when the loop runs, torn down when it ends."""

    def __init__(self, settings: Settings, sockets: Mapping[str, str]) -> None:
        self.settings, self.metrics = settings, Metrics()
        self.doors = Doorkeeper(settings)
        loop = asyncio.get_running_loop()
        data, policy = Path(settings.data), settings.retention()
        self.store = SegmentLog(
            data,
            deliver=lambda call: void(loop.call_soon_threadsafe(call)),
            keep_audio=not settings.no_audio_log,
        )
        self.store.stats.observe = self.metrics.append_seconds.observe
        identity = Identity(
            code=__version__,
            boot=Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
            owner=f"antiphon {__version__}",
            projections=versions(),
        )
        limits, watching = settings.duplex_session, self.metrics.timings.watch
        self.host = SessionHost(self.store, sockets, identity, limits.admission, watching)
        self.disk = Disk(data, policy.min_free_bytes)
        self.janitor = Janitor(data, policy, self.disk, self.metrics.erased.inc)
        self.realtime = RealtimeRoute(
            self.host, self.doors, settings, self.metrics, self.disk, self.janitor.wake, self.store
        )
        every_s, grace_s = limits.reaper_interval_s, limits.disconnect_grace_s
        self.reaper = Reaper(data, every_s, grace_s, identity.writer(), self.metrics.reaped.inc)


def void(_: object) -> None:
    """A statement made of an expression."""


def create_app(settings: Settings, sockets: Mapping[str, str]) -> ASGIApp:
    """The application. Answers /live at once; sessions can be opened when every stage is ready."""
    app = Litestar(
        route_handlers=[
            _live,
            _health,
            _metrics,
            _realtime,
            create_static_files_router(path="/", directories=[_page()], html_mode=True),
        ],
        lifespan=[_lifespan(settings, sockets)],
        response_headers=PAGE_HEADERS,
        openapi_config=None,
        logging_config=None,  # ours is structlog's; litestar's would start a thread
    )
    return _guarded(app, Doorkeeper(settings))


def _page() -> Path:
    return Path(str(files("antiphon.web"))) / "page"


def _lifespan(settings: Settings, sockets: Mapping[str, str]) -> Callable[[Litestar], Any]:
    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        server = Server(settings, sockets)
        app.state.server = server
        tending = [
            asyncio.create_task(server.metrics.watch_loop()),
            asyncio.create_task(server.janitor.run()),
            asyncio.create_task(server.reaper.run()),
        ]
        gc.collect()
        gc.freeze()  # what lives as long as the process need not be looked at by every collection
        try:
            yield
        finally:
            for task in tending:
                task.cancel()
            await server.host.drain("shutdown", 2.0)
            server.host.close()
            server.store.close()

    return lifespan


def _guarded(app: ASGIApp, doors: Doorkeeper) -> ASGIApp:
    """Host, Origin and path of every HTTP request; WebSockets check theirs with the key."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":  # type: ignore[comparison-overlap]  # litestar has an enum of str
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            try:
                doors.check_origin(headers)
                doors.check_path(scope["path"])
            except Denied as denied:
                body = denied.message.encode()
                start = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(body))]
                await send({"type": "http.response.start", "status": denied.status, "headers": start})
                await send({"type": "http.response.body", "body": body, "more_body": False})
                return
        await app(scope, receive, send)

    return guarded


@get("/live", sync_to_thread=False)
def _live() -> dict[str, str]:
    """The process answers. Says nothing of its stages."""
    return {"status": "live"}


@get("/health", sync_to_thread=False)
def _health(state: State) -> Response[dict[str, Any]]:
    """Whether a conversation can begin; until then what is loading."""
    server: Server = state.server
    status, said = health.health(server.host, server.settings, server.disk)
    return Response(said, status_code=status)


@get("/metrics", sync_to_thread=False)
def _metrics(state: State) -> Response[bytes]:
    """Prometheus exposition."""
    server: Server = state.server
    page = health.exposition(server.metrics, server.host, server.store, server.disk)
    return Response(page, media_type="text/plain; version=0.0.4; charset=utf-8")


@websocket(["/v1/realtime", NATIVE_PATH])
async def _realtime(socket: WebSocket[Any, Any, Any]) -> None:
    server: Server = socket.app.state.server
    await server.realtime.serve(socket)
