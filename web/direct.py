"""A short cut through ASGI for open WebSockets.

For every frame ASGI asks for a queue, a wake-up of a task, and (in uvicorn) a pause and a resume of reading:
more than the session's own work on it. `DirectWebSocket` is uvicorn's protocol with two more ways: text goes
to a callable the moment it has come, and text to send goes to the transport if it takes it. An application
finds it in its scope; where it is missing, under another server, plain ASGI does the same more slowly.

A read brings up to 256 KiB, and that may be ten thousand frames. So what is of more than one frame is worked
on piece by piece, and clients take turns (taking_turns.py).

What a socket has taken cannot be taken back, and left alone the kernel takes megabytes of a client that does
not read: half a minute of an answer that nobody wants any more. So it is given little, and the rest waits in
the outbox: of frames up to 14 KiB kernel and transport together hold less than 64 KiB. Audio deltas are no
longer than that (projections/slices.py), unless a model says more than two minutes of audio at once.
"""

from __future__ import annotations

import asyncio
import socket
from asyncio import BaseTransport, TimerHandle
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from uvicorn._types import ASGIReceiveEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request
from websockets.protocol import State

from .framing import Boundary, server_frame, whole_text
from .lobby import FREE_BYTES, Lobby, Place
from .taking_turns import Line

EXTENSION = "antiphon.direct"
_END = b"\r\n\r\n"
PIECE = 2 * 1024
"""Bytes of one turn: up to fifty frames."""
KERNEL_BYTES = 16 * 1024
"""What is asked of the kernel for what was sent. It holds up to two and a half times that."""
TRANSPORT_BYTES = 8 * 1024
"""What the kernel does not take and the transport may hold, and a frame beyond it: then the outbox waits."""
CLOSE_S, CLIENTS_CLOSE_S = 5.0, 30.0
"""How long a peer may take for what is still to be sent when its connection is closed; the client of a
session, who may be late with reading how that ended, has longer than a stranger."""


class DirectWebSocket(WebSocketsSansIOProtocol):
    """uvicorn's WebSocket protocol; all but open text frames is uvicorn's own."""

    lobby: ClassVar[Lobby] = Lobby()
    """Of the process; a first message that is large waits in it."""
    line: ClassVar[Line] = Line()
    """Of the process, which has one loop."""
    _on_text: Callable[[str], None] | None = None
    _on_bytes: Callable[[bytes], None] | None = None
    _between: Boundary | None = None
    """Where the client's frames end, if it began to send them when it might."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._later: deque[bytes] = deque()
        """Read and not yet worked on, in pieces."""
        self._in_line = False
        self._watch: TimerHandle | None = None
        self._unknown: int | None = 0
        """Bytes that came before the session was open; None: it is."""
        self._place: Place | None = None
        self.stopping = asyncio.Event()
        """Set when the server stops: also for who receives nothing at the moment."""

    def shutdown(self) -> None:
        self.stopping.set()
        super().shutdown()

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        taken: socket.socket | None = transport.get_extra_info("socket")
        if taken is not None:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BYTES)
        self.transport.set_write_buffer_limits(high=TRANSPORT_BYTES)
        self._watch = self.loop.call_later(CLOSE_S, self._end_for_good, False)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._later.clear()
        if self._place is not None:
            self._place.leave()
        if self._watch is not None:
            self._watch.cancel()

    def _end_for_good(self, was_closing: bool) -> None:
        """A closed transport waits until its peer has taken everything, and some peers never do."""
        closing = self.transport.is_closing()
        if closing and was_closing:
            self.transport.abort()
        else:
            patience_s = CLIENTS_CLOSE_S if self._unknown is None else CLOSE_S
            self._watch = self.loop.call_later(patience_s, self._end_for_good, closing)

    def data_received(self, data: bytes) -> None:
        if self._unknown is not None:
            self._unknown += len(data)
            if self._unknown > FREE_BYTES and self.close_sent and not self._may_answer(data):
                return  # of no use to anybody
            if self._unknown > FREE_BYTES and self._place is None:
                self._place = self.lobby.ask(self._read_on)
        if not self._later and not self._waits and self._is_little(data):
            self._work_on(data)
            return
        self._later.extend(data[start : start + PIECE] for start in range(0, len(data), PIECE))
        self._stand_in_line()

    def _may_answer(self, data: bytes) -> bool:
        """Whether it may be the answer to our close frame: small, and behind a whole frame."""
        return len(data) <= PIECE and self._between is not None and self._between.is_here

    def _is_little(self, data: bytes) -> bool:
        """Whether it is of one frame, or less than a tenth of a turn's."""
        return len(data) <= PIECE // 10 or (self._between is not None and self._between.is_one(data))

    @property
    def _waits(self) -> bool:
        """Whether there is no place yet for more."""
        return self._place is not None and not self._place.held

    def _read_on(self) -> None:
        """There is a place. Not now: it may be given in the middle of whatever somebody else does."""
        self._stand_in_line()

    def _stand_in_line(self) -> None:
        """Read no more until what was read is worked on; that is done in turn, not now."""
        self.transport.pause_reading()
        if not self._in_line:
            self._in_line = True
            self.line.join(self._take_turn, self.loop)

    def _take_turn(self) -> bool:
        """Work on a piece of what was read. Whether there is more."""
        if self._later and self._may_work:
            try:
                self._work_on(self._later.popleft())
            except Exception:
                self.transport.abort()  # as the loop does where it hands over itself what was read
                raise
        self._in_line = bool(self._later) and self._may_work
        if self.transport.is_closing():
            self._later.clear()
        elif not self._later and self._may_work:
            self.transport.resume_reading()
        return self._in_line

    @property
    def _may_work(self) -> bool:
        """Whether what comes next has a place, somebody who takes it, and a sender who is there."""
        return not self._waits and not self.read_paused and not self.transport.is_closing()

    def _work_on(self, data: bytes) -> None:
        """A whole text goes straight to who listens; all else, and fragments, by way of websockets."""
        between = self._between
        if between is not None:
            on_text = self._on_text
            if on_text is not None and between.is_here and not self.frames and not self.close_sent:
                text = whole_text(data)
                if text is not None:
                    on_text(text)
                    return
            between.pass_over(data)
        connected = self.handshake_initiated
        super().data_received(data)
        if not connected and self.handshake_initiated and data.find(_END) == len(data) - len(_END):
            self._between = Boundary()  # else it sent frames already, and who knows where they end
        if not self.handshake_initiated and self.conn.handshake_exc is not None:
            self.transport.write(
                b"".join(self.conn.data_to_send())
            )  # why it is refused: uvicorn keeps silent
            self.transport.close()

    async def receive(self) -> ASGIReceiveEvent:
        event = await super().receive()
        if self._later or self._waits:
            self._stand_in_line()
        return event

    def keepalive_timeout(self) -> None:
        """The pong may lie among what we ourselves have not read yet."""
        if self.read_paused or self._later:
            self.pong_timer = self.loop.call_later(self.config.ws_ping_timeout or 0.0, self.keepalive_timeout)
        else:
            super().keepalive_timeout()

    def handle_ping(self) -> None:
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()  # no pongs for who does not read: they would pile up

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if not self.close_sent:
            self.scope["extensions"][EXTENSION] = self  # type: ignore[assignment]  # a value of our own

    def listen(self, on_text: Callable[[str], None], on_bytes: Callable[[bytes], None] | None = None) -> None:
        """Hand every text frame to `on_text` from now on, and every binary one to `on_bytes`, where that is
        given; those that wait in ASGI's queue first.

        They are called between two reads of the socket and must not raise. Anything else that comes, and the
        end, is still received through ASGI.
        """
        others = []
        while not self.queue.empty():
            event = self.queue.get_nowait()
            received = event["type"] == "websocket.receive"
            text, data = (event.get("text"), event.get("bytes")) if received else (None, None)
            if isinstance(text, str):
                on_text(text)
            elif isinstance(data, bytes) and on_bytes is not None:
                on_bytes(data)
            else:
                others.append(event)
        for event in others:
            self.queue.put_nowait(event)
        self._on_text, self._on_bytes = on_text, on_bytes
        self.go_on()

    def begin_anew(self) -> None:
        """What came so far was read, and nobody has a session yet: as if the connection began now."""
        if self._unknown is not None:
            self._unknown = 0
        if self._place is not None:
            self._place.leave()
            self._place = None

    @property
    def takes_room(self) -> bool:
        """Whether it has, or wants, one of the few places for what is large."""
        return self._place is not None

    def admit(self) -> None:
        """There is a session: what comes is of its client."""
        self._unknown, self.close_timeout = None, CLIENTS_CLOSE_S
        if self._place is not None:
            self._place.leave()
            self._place = None

    @property
    def has_left(self) -> bool:
        """Whether the client has closed, or is not connected any more."""
        return self.disconnected or self.transport.is_closing() or self.conn.close_rcvd is not None

    def send_now(self, payload: bytes, binary: bool) -> bool:
        """Send a frame if the socket takes it; False: nothing was sent, send it through ASGI."""
        if not self.writable.is_set() or self.close_sent or self.disconnected:
            return False
        if self.conn.state is not State.OPEN:
            return False
        self.transport.write(server_frame(payload, binary=binary))
        return True

    def hold(self) -> None:
        """Read no more until `go_on`."""
        if not self.read_paused:
            self.read_paused = True
            self.transport.pause_reading()

    def go_on(self) -> None:
        if self.read_paused and not self.transport.is_closing():
            self.read_paused = False
            self._stand_in_line()

    def send_receive_event_to_app(self) -> None:
        """Called by uvicorn with a whole message in `frames`."""
        on_text, on_bytes = self._on_text, self._on_bytes
        binary = self.curr_msg_data_type != "text"
        if on_text is None or self.close_sent or (binary and on_bytes is None):
            super().send_receive_event_to_app()
            return
        message = self.frames[0] if len(self.frames) == 1 else b"".join(self.frames)
        if binary and on_bytes is not None:
            self.frames = []
            on_bytes(bytes(message))
            return
        try:
            text = str(message, "utf-8")
        except UnicodeDecodeError:
            super().send_receive_event_to_app()  # closes with 1007
            return
        self.frames = []
        on_text(text)


def under(scope: Mapping[str, Any]) -> DirectWebSocket | None:
    """The protocol that an application's connection runs on, where it is ours."""
    found = (scope.get("extensions") or {}).get(EXTENSION)
    return found if isinstance(found, DirectWebSocket) else None
