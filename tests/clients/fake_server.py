"""A server that answers exactly what the test tells it to, in a thread of its own."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any

from websockets.sync.server import ServerConnection, serve

SESSION: dict[str, Any] = {"type": "realtime", "audio": {"input": {"turn_detection": {"type": "server_vad"}}}}
Script = Callable[["Line"], None]


class Line:
    """The server's end of one call."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket, self.received = socket, list[dict[str, Any]]()

    def say(self, kind: str, **members: Any) -> None:
        self.socket.send(json.dumps({"type": kind, "event_id": "e", **members}))

    def await_event(self, kind: str) -> dict[str, Any]:
        """The client's next event of a kind; those before it are kept in `received`."""
        while True:
            self.received.append(json.loads(self.socket.recv(timeout=10)))
            if self.received[-1]["type"] == kind:
                return self.received[-1]

    def greet(self, session: dict[str, Any] = SESSION) -> None:
        self.say("session.created", session=session)
        self.await_event("session.update")
        self.say("session.updated", session=session)

    def answer(self, question: str, answer: str, pcm: bytes) -> None:
        self.say("input_audio_buffer.speech_started")
        self.say("input_audio_buffer.speech_stopped")
        self.say("input_audio_buffer.committed")
        self.say("conversation.item.input_audio_transcription.completed", transcript=question)
        self.say("response.created", response={"status": "in_progress"})
        self.say("response.output_audio_transcript.delta", delta=answer)
        self.say("response.output_audio.delta", delta=base64.b64encode(pcm).decode())
        self.say("response.done", response={"status": "completed"})

    def listen_until_hung_up(self) -> None:
        with contextlib.suppress(Exception):
            while True:
                self.socket.recv(timeout=10)


@contextlib.contextmanager
def fake_server(script: Script, *, key: str | None = None) -> Iterator[str]:
    """The URL of a server that runs `script` for each call that brings the key, if one is wanted."""

    def check(socket: ServerConnection, request: Any) -> Any:
        if key is None or request.headers.get("Authorization") == f"Bearer {key}":
            return None
        body = json.dumps({"error": {"code": "invalid_api_key", "message": "the API key is not known here"}})
        return socket.respond(HTTPStatus.UNAUTHORIZED, body)

    def call(socket: ServerConnection) -> None:
        with contextlib.suppress(Exception):
            script(Line(socket))

    with serve(call, "127.0.0.1", 0, process_request=check, compression=None) as server:
        port = server.socket.getsockname()[1]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"ws://127.0.0.1:{port}/v1/realtime"
        finally:
            server.shutdown()
            thread.join()
