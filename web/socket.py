"""The WebSocket routes: let in, then open a session or bring the client back to its own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import structlog
from litestar import WebSocket
from msgspec.structs import replace

from antiphon.actors.admission import CannotOpen
from antiphon.actors.checkpoints import Checkpoints
from antiphon.actors.host import SessionHost
from antiphon.actors.session.commands import Attach, Command, Resume
from antiphon.actors.session.refusals import Refused
from antiphon.events.ids import SessionId
from antiphon.events.store import Log

from .apps import Apps
from .attach import Attachment, hashed
from .auth import KEY_OF_MOSHI, SUBPROTOCOL_KEY, Denied, Doorkeeper
from .coming_back import LONGEST, asked_in
from .conversation import Conversation, write
from .dialect import Beginning, Dialect, Left, Return
from .dialects import chosen, members
from .direct import under
from .disk import Disk
from .half_duplex.decode import HalfDuplexDecoder
from .half_duplex.dialect import HALF_DUPLEX, named
from .half_duplex.waiting import Arrival
from .metrics import Metrics
from .observing import Observer, is_asked_for
from .realtime.dialect import REALTIME
from .realtime.undecodable import Undecodable
from .settings import Settings
from .trails import Trails

log = structlog.get_logger(__name__)


class RealtimeRoute:
    """Where sessions are held, in whichever dialect the client's URL asks for."""

    def __init__(
        self,
        host: SessionHost,
        doors: Doorkeeper,
        apps: Apps,
        settings: Settings,
        metrics: Metrics,
        disk: Disk,
        make_room: Callable[[], object],
        store: Log,
        checkpoints: Checkpoints,
    ) -> None:
        """`make_room` is called when a client is refused for lack of room on the disk."""
        self._host, self._doors, self._apps = host, doors, apps
        self._settings, self._metrics = settings, metrics
        self._disk, self._make_room, self._store = disk, make_room, store
        self._trails = Trails(checkpoints)
        decoder = partial(
            HalfDuplexDecoder, recorded=not settings.no_audio_log, asks_stage=self._confirms_config
        )
        self._half_duplex = replace(HALF_DUPLEX, decoder=decoder)
        self._limits = settings.duplex_session.replay_limits

    async def serve(self, socket: WebSocket[Any, Any, Any]) -> None:
        offered, query = socket.scope["subprotocols"], members(socket.query_params)
        observes = is_asked_for(query)
        admit = self._doors.admit_operator if observes else self._doors.admit
        try:
            principal = admit(socket.headers, offered, query.get("api_key") or query.get(KEY_OF_MOSHI))
            dialect = chosen(socket.scope["path"], query, socket.headers, offered)
            self._apps.check(dialect.mode)
        except Denied as denied:
            self._metrics.refused.labels(denied.code).inc()
            await _deny(socket, denied)
            return
        picked = "realtime" if "realtime" in offered else _first_public(offered)
        await socket.accept(subprotocols=picked)
        if observes:
            log.info("observer.came", session=query.get("session_id", "")[:LONGEST], principal=principal)
            shown = REALTIME if dialect.binary else dialect
            await Observer(socket, shown, self._metrics).observe(self._store)
        else:
            await self._attach(socket, dialect, principal)

    async def serve_call(self, socket: WebSocket[Any, Any, Any], name: str) -> None:
        """A half-duplex call, which its client has given a name."""
        offered, query = socket.scope["subprotocols"], socket.query_params
        try:
            principal = self._doors.admit(socket.headers, offered, query.get("api_key"))
            self._apps.check(HALF_DUPLEX.mode)
            session = named(name)
        except Denied as denied:
            self._metrics.refused.labels(denied.code).inc()
            await _deny(socket, denied)
            return
        await socket.accept(subprotocols=_first_public(offered))
        await self._attach(socket, self._half_duplex, principal, session)

    async def _attach(
        self,
        socket: WebSocket[Any, Any, Any],
        dialect: Dialect,
        principal: str | None,
        name: SessionId | None = None,
    ) -> None:
        most_bytes = self._settings.duplex_session.max_pending_output_bytes_per_session
        attachment = Attachment(dialect, lambda code: self._metrics.refused.labels(code).inc(), most_bytes)
        try:
            first: Command | str | None
            if name is None:
                first = await self._enter(attachment, socket, principal)
            else:
                first = await self._call(attachment, socket, principal, name)
        except (CannotOpen, Refused, Undecodable) as refusal:
            self._metrics.refused.labels(refusal.code).inc()
            client_event, parameter = _named_in(refusal)
            attachment.turn_away(refusal.code, str(refusal), client_event, parameter)
        except Left:
            return
        hosted = attachment.hosted
        if hosted is None or attachment.expelled:
            await write(socket, attachment.outbox)
        else:
            alive_s = self._settings.duplex_session.keep_alive_s
            conversation = Conversation(socket, attachment, hosted, self._metrics, alive_s)
            await conversation.hold(first, self._store, self._trails)

    async def _enter(
        self, attachment: Attachment, socket: WebSocket[Any, Any, Any], principal: str | None
    ) -> str | None:
        """Open a session for the attachment, or bring it back to its own. The frame that is to be asked
        first, if one came already."""
        dialect, query = attachment.dialect, members(socket.query_params)
        client = socket.headers.get("user-agent", "")[:200]
        came: Return | Beginning | None = asked_in(query) if dialect.comes_back else None
        if came is None:
            came = await dialect.begin(query, socket.receive, self._host.abilities, self._settings.model)
        if isinstance(came, Return):
            beneath = under(socket.scope)
            if beneath is not None and beneath.has_left:
                raise Left  # its resume lay here while this process stood still; it has gone elsewhere since
            await self._bring_back(attachment, came, client, principal)
            return None
        self._check_disk()
        token = attachment.token_hash if came.returns else b""
        attach = Attach(dialect=dialect.name, client=client, token=token)
        attachment.hosted = self._host.open(
            attachment, came.config, attach, mode=dialect.mode, principal=principal
        )
        self._metrics.opened.inc()
        return came.first

    async def _call(
        self,
        attachment: Attachment,
        socket: WebSocket[Any, Any, Any],
        principal: str | None,
        session: SessionId,
    ) -> Command | None:
        """Open a call that its client has named, once there is a place for it. What is to be asked first."""
        dialect, receive = attachment.dialect, socket.receive
        came = await dialect.begin({}, receive, self._host.abilities, self._settings.model)
        assert isinstance(came, Beginning), "nobody comes back to a call"
        self._check_disk()
        await self._host.check_name(session, dialect.mode, principal)
        config = came.config
        arrival = Arrival(socket, session, dialect.decoder(lambda: config))
        ticket = await arrival.get_place(self._host.reception, dialect.mode, principal)
        client = socket.headers.get("user-agent", "")[:200]
        attach = Attach(dialect=dialect.name, client=client, token=attachment.token_hash)
        try:
            attachment.hosted = self._host.open(
                attachment, config, attach, mode=dialect.mode, principal=principal, ticket=ticket
            )
        except CannotOpen:
            ticket.give_back()
            raise
        self._metrics.opened.inc()
        return arrival.asked

    def _confirms_config(self) -> bool:
        model = self._host.model
        return model is not None and model.confirms_config

    def _check_disk(self) -> None:
        if self._disk.is_low:
            self._make_room()
            raise CannotOpen("resource_exhausted", "the disk of the server is nearly full; try again later")

    async def _bring_back(
        self, attachment: Attachment, came: Return, client: str, principal: str | None
    ) -> None:
        attachment.comes_back(self._limits)
        resume = Resume(
            dialect=attachment.dialect.name,
            presented=hashed(came.token),
            token=attachment.token_hash,
            principal=principal,
            after=came.after,
            client=client,
            live=attachment.dialect.live,
            mode=attachment.dialect.mode,
        )
        attachment.hosted = await self._host.resume(attachment, came.session, resume)
        if not attachment.expelled:
            self._metrics.resumed.inc()


def _named_in(refusal: Exception) -> tuple[str | None, str | None]:
    """The client's event and the parameter that a refusal names, if it does."""
    match refusal:
        case Undecodable(client_event=client_event, param=parameter):
            return client_event, parameter
        case Refused(parameter=parameter):
            return None, parameter
        case _:
            return None, None


async def _deny(socket: WebSocket[Any, Any, Any], denied: Denied) -> None:
    """Refuse before the upgrade, with a status and a body where the server can."""
    body = b'{"error":{"type":"invalid_request_error","code":"%s","message":"%s"}}' % (
        denied.code.encode(),
        denied.message.encode(),
    )
    start = {
        "type": "websocket.http.response.start",
        "status": denied.status,
        "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))],
    }
    await socket.send(start)  # type: ignore[arg-type]  # the ASGI extension is not in litestar's types
    await socket.send({"type": "websocket.http.response.body", "body": body})  # type: ignore[arg-type]


def _first_public(offered: list[str]) -> str | None:
    """A subprotocol to answer with, never the one that carries the key."""
    return next((name for name in offered if not name.startswith(SUBPROTOCOL_KEY)), None)
