"""Answers from an OpenAI-compatible server in the language model's place. The server here is a stub."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from antiphon.events.segments.log import SegmentLog
from antiphon.events.vocabulary import EffectStarted, UnitSubmitted
from tests.serving import running

from .wire import wire


class StubChat(BaseHTTPRequestHandler):
    """Streams one fixed answer, and remembers what it was asked."""

    asked: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        self.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for word in ("The ", "stub ", "answers."):
            chunk = json.dumps({"choices": [{"delta": {"content": word}}]})
            self.wfile.write(f"data: {chunk}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def chat() -> Iterator[str]:
    StubChat.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), StubChat)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()


async def test_what_is_typed_is_answered_in_writing_and_announced_before_it_is_asked(
    chat: str, tmp_path: Path
) -> None:
    arguments = ("--llm-url", chat, "--llm-model", "stub")
    with running(tmp_path / "data", *arguments, stage="chat") as server:
        async with wire(server) as client:
            created = await client.next("session.created")
            session = created["session"]["id"]
            assert created["session"]["output_modalities"] == ["text"]
            for text in ("Hello", "And then?"):
                content = [{"type": "input_text", "text": text}]
                item = {"type": "message", "role": "user", "content": content}
                await client.send({"type": "conversation.item.create", "item": item})
                await client.send({"type": "response.create"})
                frames = await client.until("response.done")
                deltas = [f["delta"] for f in frames if f["type"] == "response.output_text.delta"]
                assert "".join(deltas) == "The stub answers."
            await client.send({"type": "input_audio_buffer.append", "audio": "AAAA" * 2_000})
            assert (await client.next("error"))["error"]["code"] == "unsupported"
    spoken = [message["content"] for message in StubChat.asked[1]["messages"] if message["role"] != "system"]
    assert spoken == ["Hello", "The stub answers.", "And then?"]
    store = SegmentLog(tmp_path / "data", deliver=lambda call: call())
    stored = list(store.read(session))
    asked = [one.seq for one in stored if isinstance(one.event, UnitSubmitted)]
    started = [one.event.operation for one in stored if isinstance(one.event, EffectStarted)]
    assert asked == started
