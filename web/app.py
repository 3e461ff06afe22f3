"""The ASGI application of one serving process."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from litestar import Litestar, Response, WebSocket, get, websocket
from litestar.datastructures import State
from litestar.static_files import create_static_files_router
from litestar.types import ASGIApp, ControllerRouterHandler, Receive, Scope, Send

from antiphon import __version__
from antiphon.actors.handover import Handover
from antiphon.actors.host import Identity, SessionHost
from antiphon.actors.processes.lifeline import ServingPlan
from antiphon.actors.processes.peers import Answer, Done, EndCall, Figures, LetGo, MakeRoom, Peers, Question
from antiphon.actors.processes.places import Places
from antiphon.actors.processes.pulse import beat
from antiphon.events.segments.log import SegmentLog
from antiphon.projections.dialects import versions

from . import health, peers_page, several
from .apps import Apps, all_apps, switch_app
from .auth import Denied, Doorkeeper
from .callers import HANDLERS
from .calls import MODE, stop_call
from .dialects import BY_PATH
from .disk import Disk
from .file_headers import with_headers
from .inspecting import media, routes
from .inspecting.catalogue import Catalogue
from .inspecting.desk import Desk
from .janitor import Janitor
from .joyvl.routes import ROUTES
from .joyvl.watchers import Watchers
from .line import leave_the_line, one_of_the_line, whole_line
from .metrics import Metrics
from .personaplex.dialect import CHAT_PATH, DUPLEX_PATH
from .reaper import NEVER_SLOW, Reaper
from .recordings import session_asset, session_download, session_meta, session_recording
from .settings import Settings
from .socket import RealtimeRoute
from .trails import checkpoints

PAGE_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; connect-src 'self' ws: wss:; media-src 'self' blob:; "
        "img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    ),
    "permissions-policy": "microphone=(self), camera=()",
    "referrer-policy": "same-origin",  # without any, browsers do not say where a form was sent from
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}


INSPECTING = (
    routes.sessions,
    routes.session,
    routes.follow,
    routes.events,
    routes.event,
    routes.state_at,
    media.peaks,
    media.sound,
    media.image,
    media.download,
    media.erase_audio,
)


class Server:
    """What the routes share. Built when the loop runs, torn down when it ends.

    Of several processes the first tends what all have in common: it erases, and it ends what nobody came
    back to.
    """

    def __init__(self, settings: Settings, plan: ServingPlan) -> None:
        self.settings, self.metrics, self._plan = settings, Metrics(), plan
        self.doors, self.apps = Doorkeeper(settings), Apps()
        loop = asyncio.get_running_loop()
        data, policy = Path(settings.data), settings.retention()
        self.store = SegmentLog(
            data,
            deliver=lambda call: void(loop.call_soon_threadsafe(call)),
            keep_audio=not settings.no_audio_log,
        )
        self.store.stats.observe = self.metrics.append_seconds.observe
        identity = _identity()
        limits, watching = settings.duplex_session, self.metrics.timings.watch
        self.peers = Peers(plan.directory, plan.worker)
        kept = checkpoints(self.store)
        self.host = SessionHost(
            self.store,
            kept,
            plan.stages,
            identity,
            limits.admission,
            watching,
            Places(plan.places_fd, plan.workers, plan.worker),
            Handover(self.store.holder, self.peers.let_go),
        )
        self.recorded = SegmentLog(data, deliver=lambda call: call(), slow_limit=NEVER_SLOW)
        """The same store for those who read it in threads: what `store` has open is its own to close."""
        self.desk, self.catalogue = Desk(self.recorded), Catalogue(self.recorded)
        self.disk = Disk(data, policy.min_free_bytes)
        self.janitor = Janitor(data, policy, self.disk, self.metrics.erased.inc)
        self._asking: set[asyncio.Task[None]] = set()
        routes = (self.host, self.doors, self.apps, settings, self.metrics, self.disk)
        self.realtime = RealtimeRoute(*routes, self._make_room, self.store, kept)
        endpoints = settings.stage_settings(settings.stage).get("endpoints") or {}
        options, model = settings.joyvl.options(endpoints), settings.joyvl.main_model
        self.watchers = Watchers(self.host, self.store, self.disk, self._make_room, options, model)
        every_s, grace_s = limits.reaper_interval_s, limits.disconnect_grace_s
        self.reaper = Reaper(data, every_s, grace_s, identity.writer(), self.metrics.reaped.inc)

    def tending(self) -> list[asyncio.Task[None]]:
        """What runs as long as the process does."""
        leave = partial(signal.raise_signal, signal.SIGTERM)
        works = [self.metrics.watch_loop(), beat(self._plan.pulse_fd, leave)]
        if self._plan.worker == 0:
            works += [self.janitor.run(), self.reaper.run()]
        return [asyncio.create_task(work) for work in works]

    async def answer(self, question: Question) -> Answer:
        """What another serving process asks."""
        match question:
            case LetGo(session=session):
                return Done(await self.host.hand_over(session))
            case EndCall(session=session, principal=principal):
                return Done(self.host.end(session, MODE, principal))
            case MakeRoom():
                self.janitor.wake()
                return Done()
            case _:
                return Figures(self._plan.worker, self.page())

    def page(self) -> bytes:
        """What this process measures."""
        return health.exposition(self.metrics, self.host, self.store, self.disk)

    async def whole_page(self) -> bytes:
        """What all processes measure."""
        if self._plan.workers == 1:
            return self.page()
        figures = await self.peers.figures(several.WITHIN_S)
        pages = {one.worker: one.page for one in figures} | {self._plan.worker: self.page()}
        return several.gathered(pages, self._plan.worker)

    def _make_room(self) -> None:
        if self._plan.worker == 0:
            self.janitor.wake()
        elif not self._asking:
            asking = asyncio.create_task(self.peers.make_room(several.WITHIN_S))
            self._asking.add(asking)
            asking.add_done_callback(self._asking.discard)


def _identity() -> Identity:
    return Identity(
        code=__version__,
        boot=Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        owner=f"antiphon {__version__}",
        projections=versions(),
    )


def void(_: object) -> None:
    """A statement made of an expression."""


def create_app(settings: Settings, plan: ServingPlan) -> ASGIApp:
    """The application. Answers /live at once; sessions can be opened when every stage is ready."""
    app = Litestar(
        route_handlers=_routes(settings),
        lifespan=[_lifespan(settings, plan)],
        response_headers=PAGE_HEADERS,
        exception_handlers=HANDLERS,
        openapi_config=None,
        logging_config=None,  # ours is structlog's; litestar's would start a thread
    )
    return _guarded(app, Doorkeeper(settings))


def _routes(settings: Settings) -> list[ControllerRouterHandler]:
    """Everything; or what a peer's server has."""
    always: list[ControllerRouterHandler] = [_live, _health, _metrics, *peers_page.pages(settings)]
    match settings.only:
        case "personaplex":
            return [*always, websocket([CHAT_PATH, DUPLEX_PATH])(_of_any_dialect)]
        case "joyvl":
            return [*always, *ROUTES]
        case _:
            return [*always, *ROUTES, *_everything()]


def _everything() -> tuple[ControllerRouterHandler, ...]:
    """The routes that are not there where only one protocol is served."""
    return (
        websocket(["/v1/realtime", *BY_PATH])(_of_any_dialect),
        _half_duplex,
        whole_line,
        one_of_the_line,
        leave_the_line,
        stop_call,
        all_apps,
        switch_app,
        session_meta,
        session_recording,
        session_asset,
        session_download,
        *INSPECTING,
        create_static_files_router(
            path="/", directories=[_page()], html_mode=True, middleware=[with_headers(PAGE_HEADERS)]
        ),
    )


def _page() -> Path:
    return Path(str(files("antiphon.web"))) / "page"


def _lifespan(settings: Settings, plan: ServingPlan) -> Callable[[Litestar], Any]:
    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        server = Server(settings, plan)
        app.state.server = server
        await server.peers.listen(server.answer)
        tending = server.tending()
        gc.collect()
        gc.freeze()  # what lives as long as the process need not be looked at by every collection
        try:
            yield
        finally:
            for task in tending:
                task.cancel()
            server.peers.close()
            server.desk.close()
            await server.host.drain("shutdown", 2.0)
            server.host.close()
            server.store.close()
            server.recorded.close()

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
    return Response({**said, "watchers": server.watchers.health()}, status_code=status)


@get("/metrics")
async def _metrics(state: State) -> Response[bytes]:
    """Prometheus exposition."""
    server: Server = state.server
    page = await server.whole_page()
    return Response(page, media_type="text/plain; version=0.0.4; charset=utf-8")


async def _of_any_dialect(socket: WebSocket[Any, Any, Any]) -> None:
    server: Server = socket.app.state.server
    await server.realtime.serve(socket)


@websocket("/ws/half_duplex/{name:str}")
async def _half_duplex(socket: WebSocket[Any, Any, Any], name: str) -> None:
    server: Server = socket.app.state.server
    await server.realtime.serve_call(socket, name)
