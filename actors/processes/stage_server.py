"""The stage's loop: Unix stream sockets, the desk behind them, and what engine threads hand over.

One thread with a selector. While the engine loads, it already answers with `Loading`; when it is ready every
connection is greeted and gets a peer at the desk. Everything that one pass of the loop has to say to a
connection leaves in one write.

When the engine has died, what was said of it still leaves, for DEATH_S at most; then every connection is
closed, and whoever waits for an answer knows that none will come.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

import structlog

from antiphon.actors.desk.desk import Peer, StageDesk
from antiphon.actors.link.codec import (
    BACKLOG_LIMIT,
    LINK_VERSION,
    FromStage,
    Hello,
    LinkBroken,
    LinkError,
    LoadFailed,
    Loading,
    StageGreeting,
    command_decoder,
    encode,
)
from antiphon.actors.stages.contract import Engine, EngineRefused

READ_BYTES = 256 * 1024
EXPIRE_EVERY_S = 1.0
DEATH_S = 1.0
"""How long a stage whose engine has died may take to say so."""

Phase = Literal["loading", "ready", "failed"]

log = structlog.get_logger()


class Connection:
    """One serving process."""

    def __init__(self, sock: socket.socket, dirty: set[Connection]) -> None:
        self.sock = sock
        self.decoder = command_decoder()
        self.peer: Peer | None = None
        self.waiting = bytearray()
        """Bytes that the socket did not take yet."""
        self._said: list[FromStage] = []
        self._dirty = dirty

    def say(self, message: FromStage) -> None:
        self._said.append(message)
        self._dirty.add(self)

    def write(self) -> None:
        """Write what was said, as far as the socket takes it. Raises OSError or LinkError: give it up."""
        said, self._said = self._said, []
        chunk = encode(said)
        with contextlib.suppress(BlockingIOError):
            if self.waiting:
                del self.waiting[: self.sock.send(self.waiting)]
            else:
                chunk = chunk[self.sock.send(chunk) :]
        self.waiting += chunk
        if len(self.waiting) > BACKLOG_LIMIT:
            raise LinkBroken("the serving process does not read")


class StageServer:
    """Serves one socket path until stopped. `post` and the phase changes may come from any thread.

    Both are called on the loop's thread: `died` as the last thing of a server whose engine has died,
    `goes_round` with every turn of the loop, at least once in EXPIRE_EVERY_S.
    """

    def __init__(
        self,
        path: Path,
        *,
        died: Callable[[], None] = lambda: None,
        goes_round: Callable[[], None] = lambda: None,
    ) -> None:
        self.phase: Phase = "loading"
        self.detail = ""
        self._greeting: StageGreeting = Loading("")
        self._desk: StageDesk | None = None
        self._posted: deque[Callable[[], None]] = deque()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._woken = False
        self._stopping = False
        self._ends_at: float | None = None
        """When a server whose engine has died ends at the latest."""
        self._died, self._goes_round = died, goes_round
        self._connections: set[Connection] = set()
        self._dirty: set[Connection] = set()
        self._selector = selectors.DefaultSelector()
        path.unlink(missing_ok=True)
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen()
        self._listening.setblocking(False)
        # What is registered with a socket is what to do about it, given the selector's event mask.
        self._selector.register(self._listening, selectors.EVENT_READ, self._accept)
        self._selector.register(self._wake, selectors.EVENT_READ, self._woke)
        self._thread = threading.Thread(target=self._run, name="stage-loop", daemon=True)

    # --- from any thread ----------------------------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()

    def post(self, call: Callable[[], None]) -> None:
        """Run `call` on the loop thread, after what was posted before it."""
        self._posted.append(call)
        if not self._woken and threading.get_ident() != self._thread.ident:
            self._woken = True
            os.eventfd_write(self._wake, 1)

    def loading(self, progress: str) -> None:
        self.post(lambda: self._greet("loading", progress, Loading(progress)))

    def failed(self, code: str, reason: str) -> None:
        self.post(lambda: self._greet("failed", reason, LoadFailed(code, reason)))

    def ready(self, engine: Engine) -> None:
        self.post(lambda: self._open_desk(engine))

    def stop(self, timeout_s: float) -> None:
        """Let all sessions go, end the engine and the loop; wait so long for it."""

        def stopping() -> None:
            self._stopping = True

        self.post(stopping)
        self._thread.join(timeout_s)

    # --- on the loop thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stopping and not self._is_over():
                for key, events in self._selector.select(0 if self._posted else EXPIRE_EVERY_S):
                    key.data(events)
                for _ in range(len(self._posted)):
                    self._posted.popleft()()
                self._goes_round()
                self._write()
                if self._desk is not None:
                    self._desk.expire()
            self._shut()
            if self._ends_at is not None:
                self._died()
        except Exception:
            log.exception("stage.loop_failed")
            os._exit(1)  # half a stage would hold its sessions for ever; a new one re-primes them

    def _shut(self) -> None:
        """End the engine and every connection. The wake-up stays: an engine's thread may still post."""
        if self._desk is not None and self._ends_at is None:
            self._desk.stop()  # a dead engine is not asked: it might never answer
        self._write()
        for sock in (self._listening, *(connection.sock for connection in self._connections)):
            sock.close()
        self._selector.close()

    def _woke(self, _events: int) -> None:
        os.eventfd_read(self._wake)
        self._woken = False

    def _accept(self, _events: int) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionError):
            sock, _ = self._listening.accept()
            sock.setblocking(False)
            connection = Connection(sock, self._dirty)
            self._connections.add(connection)
            self._selector.register(sock, selectors.EVENT_READ, partial(self._serve, connection))
            self._welcome(connection)

    def _serve(self, connection: Connection, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            self._dirty.add(connection)
        if events & selectors.EVENT_READ:
            self._read(connection)

    def _read(self, connection: Connection) -> None:
        try:
            chunk = connection.sock.recv(READ_BYTES)
            commands = connection.decoder.feed(chunk)
            if commands and connection.peer is None:
                raise LinkBroken("commands before the stage said hello")
        except BlockingIOError:
            return
        except (OSError, LinkError) as error:
            self._drop(connection, str(error))
            return
        if not chunk:
            self._drop(connection, "closed")
        elif connection.peer is not None:
            connection.peer.take(commands)

    def _write(self) -> None:
        """Everything said in this pass, one write per connection."""
        dirty = list(self._dirty)
        self._dirty.clear()
        for connection in dirty:
            if connection not in self._connections:
                continue
            waited = bool(connection.waiting)
            try:
                connection.write()
            except (OSError, LinkError) as error:
                self._drop(connection, str(error))
                continue
            if waited != bool(connection.waiting):
                wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if connection.waiting else 0)
                key = self._selector.get_key(connection.sock)
                self._selector.modify(connection.sock, wanted, key.data)

    def _drop(self, connection: Connection, reason: str) -> None:
        log.info("stage.connection_ended", reason=reason)
        self._connections.discard(connection)
        self._selector.unregister(connection.sock)
        connection.sock.close()
        if connection.peer is not None:
            connection.peer.lost()

    def _welcome(self, connection: Connection) -> None:
        if self._desk is not None:
            connection.peer = self._desk.connect(connection.say)
        connection.say(self._greeting)

    def _greet(self, phase: Phase, detail: str, greeting: StageGreeting) -> None:
        self.phase, self.detail, self._greeting = phase, detail, greeting
        for connection in self._connections:
            self._welcome(connection)

    def _open_desk(self, engine: Engine) -> None:
        try:
            self._desk = StageDesk(engine, self.post, on_death=self._engine_died)
        except EngineRefused as refused:
            self._greet("failed", refused.message, LoadFailed(refused.code, refused.message))
            return
        self._greet("ready", "", Hello(LINK_VERSION, engine.descriptor))

    def _engine_died(self, why: str) -> None:
        self.phase, self.detail = "failed", why
        self._ends_at = time.monotonic() + DEATH_S

    def _is_over(self) -> bool:
        """Whether the engine has died and everybody was told, or had long enough to be told."""
        if self._ends_at is None:
            return False
        unsaid = any(connection.waiting for connection in self._connections) or bool(self._dirty)
        return not unsaid or time.monotonic() > self._ends_at
