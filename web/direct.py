"""A short cut through ASGI for open WebSockets.

For every frame ASGI asks for a queue, a wake-up of a task, and (in uvicorn) a pause and a resume of reading:
more than the session's own work on it. `DirectWebSocket` is uvicorn's protocol with two more ways: text goes
to a callable the moment it is parsed, and text to send goes to the transport if it takes it. An application
finds it in its scope; where it is missing, under another server, plain ASGI does the same more slowly.
"""

from __future__ import annotations

from collections.abc import Callable

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.http11 import Request

EXTENSION = "antiphon.direct"


class DirectWebSocket(WebSocketsSansIOProtocol):
    """uvicorn's WebSocket protocol; all but open text frames is uvicorn's own."""

    _on_text: Callable[[str], None] | None = None

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if not self.close_sent:
            self.scope["extensions"][EXTENSION] = self  # type: ignore[assignment]  # a value of our own

    def listen(self, on_text: Callable[[str], None]) -> None:
        """Hand every text frame to `on_text` from now on, those that wait in ASGI's queue first.

        It is called between two reads of the socket and must not raise. Anything else that comes, and the
        end, is still received through ASGI.
        """
        others = []
        while not self.queue.empty():
            event = self.queue.get_nowait()
            text = event.get("text") if event["type"] == "websocket.receive" else None
            if isinstance(text, str):
                on_text(text)
            else:
                others.append(event)
        for event in others:
            self.queue.put_nowait(event)
        self._on_text = on_text
        self.go_on()

    def send_now(self, text: bytes) -> bool:
        """Send a text frame if the socket takes it; False: nothing was sent, send it through ASGI."""
        if not self.writable.is_set() or self.close_sent or self.disconnected:
            return False
        try:
            self.conn.send_text(text)
        except InvalidState:
            return False
        self.transport.write(b"".join(self.conn.data_to_send()))
        return True

    def hold(self) -> None:
        """Read no more until `go_on`."""
        if not self.read_paused:
            self.read_paused = True
            self.transport.pause_reading()

    def go_on(self) -> None:
        if self.read_paused and not self.transport.is_closing():
            self.read_paused = False
            self.transport.resume_reading()

    def send_receive_event_to_app(self) -> None:
        """Called by uvicorn with a whole message in `frames`."""
        on_text = self._on_text
        if on_text is None or self.curr_msg_data_type != "text" or self.close_sent:
            super().send_receive_event_to_app()
            return
        message = self.frames[0] if len(self.frames) == 1 else b"".join(self.frames)
        try:
            text = str(message, "utf-8")
        except UnicodeDecodeError:
            super().send_receive_event_to_app()  # closes with 1007
            return
        self.frames = []
        on_text(text)
