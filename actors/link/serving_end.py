"""The serving side of a link to a stage: an asyncio protocol that connects, and connects again.

A stage may still be loading, or gone for a while; the server answers all the same. `state` says how it is,
`on_ready` and `on_lost` say when it changes. A stage whose descriptor is not one that can be served is never
ready: its state is `failed` with the code `runtime_contract_invalid`.

Every write wakes the stage's process, and its answer wakes ours: under load that costs more than the work. So
in the long run one leaves every PACE_S, with all that was said meanwhile. Where fewer are needed they leave
with the present turn of the loop, also some at once: units of several sessions that come in one moment do not
wait for each other. A cancel waits for nothing, an acknowledgement for company.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal, cast

import structlog

from antiphon.actors.link.codec import (
    BACKLOG_LIMIT,
    LINK_VERSION,
    WINDOW,
    FromStage,
    Hello,
    LinkBroken,
    LinkError,
    LinkNotReady,
    LoadFailed,
    Loading,
    WindowFull,
    encode_one,
    message_decoder,
)
from antiphon.actors.link.pace import Pace
from antiphon.actors.link.window import Window, is_output_side, weight_of
from antiphon.actors.stages import descriptor as descriptors
from antiphon.actors.stages.contract import (
    Acknowledge,
    Cancel,
    Close,
    Closed,
    Configure,
    Descriptor,
    EndTurn,
    Listen,
    Open,
    Output,
    Refused,
    Speak,
    StageCommand,
    StageMessage,
)
from antiphon.events.ids import SessionId

FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 1.0
PACE_S = 0.003
LEEWAY_S = 0.05
"""How far ahead of their pace writes may be: sixteen at once after a while of rest."""
LAZY_S = 0.02
"""How long after a write an acknowledgement may wait for something to travel with."""
NEVER = float("inf")
_WORK = (Listen, EndTurn, Speak, Configure)

LinkState = Literal["connecting", "loading", "ready", "failed", "lost", "closed"]

log = structlog.get_logger()


class StageLink(asyncio.Protocol):
    """One stage as its serving process sees it. Belongs to the loop it was made in.

    Callbacks run on that loop and must not raise: `on_message` for everything said of a session, in order;
    `on_ready` each time an engine is ready (its descriptor's `engine` tells whether it is the same one);
    `on_lost` once for each time a ready stage is gone: all its sessions must be opened again.
    """

    def __init__(
        self,
        path: str,
        on_message: Callable[[StageMessage], None],
        *,
        on_ready: Callable[[Descriptor], None],
        on_lost: Callable[[str], None],
        role: str = "",
    ) -> None:
        self.state: LinkState = "connecting"
        self.code = ""
        """Why the stage failed, for programs."""
        self.detail = ""
        """For people: the progress of loading, or why the stage failed or was lost."""
        self.descriptor: Descriptor | None = None
        self._wanted, self._role = role, ""
        self._path = path
        self._on_message, self._on_ready, self._on_lost = on_message, on_ready, on_lost
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._decoder = message_decoder()
        self._windows: dict[SessionId, Window] = {}
        self._closing: set[SessionId] = set()
        """Sessions that were to be closed, and were not opened again since."""
        self._outbox: list[bytes] = []
        self._outbox_bytes = 0
        self._acknowledged: dict[SessionId, Acknowledge] = {}
        self._flush_at = NEVER
        self._flush_handle: asyncio.Handle | None = None
        self._flushed_at = 0.0
        self._pace = Pace(PACE_S, LEEWAY_S)
        self._writable = True
        self._pause_s = FIRST_PAUSE_S
        self._connecting: asyncio.Task[None] | None = None

    @classmethod
    def connect(
        cls,
        path: str,
        on_message: Callable[[StageMessage], None],
        *,
        on_ready: Callable[[Descriptor], None],
        on_lost: Callable[[str], None],
        role: str = "",
    ) -> StageLink:
        """A link that is being connected; returns at once. Called on a running loop.

        `role`: the one that the stage must have, if it matters.
        """
        link = cls(path, on_message, on_ready=on_ready, on_lost=on_lost, role=role)
        link._reconnect()
        return link

    def send(self, command: StageCommand) -> None:
        """Send soon, in order with what was sent before.

        Work of a session that was not opened over this connection goes nowhere: the stage knows nothing of
        the session, and whoever opens it there asks again for all that is outstanding.

        Raises LinkNotReady unless `state` is ready, WindowFull when the session has too much at the stage,
        FrameTooLarge; then nothing of the command is sent.
        """
        if self.state != "ready":
            raise LinkNotReady(f"the stage is {self.state}")
        if type(command) is Acknowledge:
            self._acknowledge(command)
            return
        if isinstance(command, _WORK) and command.fence.session not in self._windows:
            return  # asked before its session knew that the stage had gone and come back
        frame = encode_one(command)
        self._account(command)
        self._outbox.append(frame)
        self._outbox_bytes += len(frame)
        self._flush_by(0.0 if type(command) is Cancel else self._pace.next_s)
        if self._outbox_bytes > BACKLOG_LIMIT:
            self._break(LinkBroken("the stage does not read"))

    def _acknowledge(self, command: Acknowledge) -> None:
        """Only the newest counts; the credit is back at once, the stage hears of it in time for more work."""
        window = self._windows.get(command.session)
        if window is not None:
            window.acknowledged(command.number)
        self._acknowledged[command.session] = command
        self._flush_by(self._flushed_at + LAZY_S)

    def _flush_by(self, wanted: float) -> None:
        """Flush at that time of the loop, with this turn if it is past, or earlier if that is planned."""
        if self._flush_at <= wanted or not self._writable:
            return
        if self._flush_handle is not None:
            self._flush_handle.cancel()
        self._flush_at = wanted
        past = wanted <= self._loop.time()
        self._flush_handle = (
            self._loop.call_soon(self._flush) if past else self._loop.call_at(wanted, self._flush)
        )

    @property
    def in_flight(self) -> int:
        """Operations of all sessions at the stage that are not in the log yet."""
        return sum(len(window) for window in self._windows.values())

    @property
    def backlog(self) -> int:
        """Bytes that were said and that the stage has not read."""
        unread = 0 if self._transport is None else self._transport.get_write_buffer_size()
        return self._outbox_bytes + unread

    def forget(self, session: SessionId) -> None:
        """The session is no longer this process's: another writer took it over, or it was given up."""
        self._windows.pop(session, None)

    def close(self) -> None:
        """End the link for good, after what was sent; nothing more is, and `on_lost` is not called."""
        self._flush()
        self.state, self.detail = "closed", "the link is closed"
        if self._connecting is not None:
            self._connecting.cancel()
        if self._transport is not None:
            self._transport.close()

    # --- the account of credits ---------------------------------------------------------------------------

    def _account(self, command: StageCommand) -> None:
        match command:
            case Listen() | EndTurn() | Speak():
                fence = command.fence
                window = self._windows[fence.session]
                epoch = fence.epoch if is_output_side(command, role=self._role) else None
                if not window.take(command.operation, epoch, weight_of(command)):
                    raise WindowFull(f"session {fence.session} has too much under way")
            case Cancel(fence, following):
                if following is not None and fence.session in self._windows:
                    self._windows[fence.session].voided(following.epoch)
            case Close(fence):
                self._closing.add(fence.session)
            case Open(fence):
                self._closing.discard(fence.session)
                # Opened again, by the next writer in this process: what was asked before is still there.
                self._windows.setdefault(fence.session, Window(WINDOW)).voided(fence.epoch)

    # --- what asyncio calls -------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._decoder = message_decoder()
        self._outbox.clear()
        self._acknowledged.clear()
        self._outbox_bytes = 0
        self._writable = True

    def data_received(self, data: bytes) -> None:
        try:
            messages = self._decoder.feed(data)
        except LinkError as error:
            self._break(error)
            return
        for message in messages:
            self._take(message)

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self.state == "closed":
            return
        was_ready = self.state == "ready"
        self.state, self.descriptor = "lost", None
        self.detail = str(exc) if exc is not None else "the stage closed the connection"
        self._windows.clear()
        self._closing.clear()
        self._reconnect()
        if was_ready:
            self._on_lost(self.detail)

    # --- inside -------------------------------------------------------------------------------------------

    def _take(self, message: FromStage) -> None:
        match message:
            case Output():
                window = self._windows.get(message.fence.session) if message.last else None
                if window is not None:
                    window.ended(message.operation, message.number)
                self._on_message(message)
            case Hello(version, descriptor):
                self._greeted(version, descriptor)
            case Loading(progress):
                self.state, self.detail = "loading", progress
            case LoadFailed(code, reason):
                self._failed(code, reason)
            case Closed(fence) if fence.session not in self._closing:
                pass  # it is the answer to a writer of this process that gave the session up; the next has it
            case _:
                if isinstance(message, Closed | Refused):
                    self._windows.pop(message.fence.session, None)
                    self._closing.discard(message.fence.session)
                self._on_message(message)

    def _failed(self, code: str, reason: str) -> None:
        self.state, self.code, self.detail = "failed", code, reason
        log.error("stage.failed", code=code, reason=reason)

    def _greeted(self, version: int, descriptor: Descriptor) -> None:
        if version != LINK_VERSION:
            self._break(LinkBroken(f"the stage speaks version {version}, this is {LINK_VERSION}"))
            return
        wrong = descriptors.faults(descriptor, role=self._wanted)
        if wrong:
            self._failed(descriptors.CODE, f"stage {descriptor.name}: {'; '.join(wrong)}")
            return
        self.state, self.code, self.detail, self.descriptor = "ready", "", "", descriptor
        self._role = descriptor.role
        self._pause_s = FIRST_PAUSE_S
        self._on_ready(descriptor)

    def _flush(self) -> None:
        if self._flush_handle is not None:
            self._flush_handle.cancel()
        self._flush_at, self._flush_handle = NEVER, None
        if self._transport is None or not self._writable:
            return
        self._flushed_at = self._loop.time()
        self._pace.done(self._flushed_at)
        acknowledged, self._acknowledged = self._acknowledged, {}
        frames, self._outbox = self._outbox, []
        self._outbox_bytes = 0
        if acknowledged or frames:
            # Acknowledgements first: they give the stage the credit for what comes behind them.
            self._transport.write(b"".join([*map(encode_one, acknowledged.values()), *frames]))

    def _break(self, error: LinkError) -> None:
        log.error("stage_link.broken", code=error.code, reason=str(error))
        if self._transport is not None:
            self._transport.abort()

    def _reconnect(self) -> None:
        if self._connecting is None or self._connecting.done():
            self._connecting = self._loop.create_task(self._connect())

    async def _connect(self) -> None:
        while True:
            if self.state != "connecting":
                await asyncio.sleep(self._pause_s)
                self._pause_s = min(LONGEST_PAUSE_S, self._pause_s * 1.5)
            try:
                await self._loop.create_unix_connection(lambda: self, self._path)
                return
            except OSError as error:
                self.state, self.detail = "lost", error.strerror or "cannot connect"
