"""Answers from an OpenAI-compatible server in the language model's place. The server here is a stub."""

from __future__ import annotations

import base64
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

from .test_duplex_decode import JPEG
from .wire import wire

CALL = {"index": 0, "id": "call_1", "function": {"name": "look", "arguments": '{"at": "sky"}'}}
TOOL = {"type": "function", "name": "look", "parameters": {"type": "object"}}


IMAGE = "data:image/jpeg;base64," + base64.b64encode(JPEG).decode()


class StubChat(BaseHTTPRequestHandler):
    """Streams one fixed answer, and remembers what it was asked."""

    asked: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        self.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        deltas: list[dict[str, Any]] = [{"content": word} for word in ("The ", "stub ", "answers.")]
        if "tools" in self.asked[-1] and self.asked[-1]["messages"][-1]["role"] == "user":
            deltas = [{"tool_calls": [CALL]}]
        for delta in deltas:
            chunk = json.dumps({"choices": [{"delta": delta}]})
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


async def test_a_function_is_called_and_answered_and_what_is_shown_is_seen(chat: str, tmp_path: Path) -> None:
    config = tmp_path / "antiphon.toml"
    config.write_text("[stage.chat]\nllm_sees = true\n")
    arguments = ("--config", str(config), "--llm-url", chat, "--llm-model", "stub")
    with running(tmp_path / "data", *arguments, stage="chat") as server:
        async with wire(server, "?duplex=1") as client:
            await client.send({"type": "session.update", "session": {"tools": [TOOL]}})
            flags = (await client.next("session.updated"))["session"]["capabilities"]
            assert (flags["supports_function_calls"], flags["supports_image_input"]) == (True, True)
            content = [{"type": "input_text", "text": "Blue?"}, {"type": "input_image", "image_url": IMAGE}]
            await client.send(
                {"type": "conversation.item.create", "item": {"role": "user", "content": content}}
            )
            await client.send({"type": "response.create"})
            called = await client.next("response.function_call_arguments.done")
            assert (called["call_id"], called["name"]) == ("call_1", "look")
            await client.next("response.done")
            output = {"type": "function_call_output", "call_id": "call_1", "output": "grey"}
            await client.send({"type": "conversation.item.create", "item": output})
            await client.send({"type": "response.create"})
            done = (await client.next("response.done"))["response"]
            assert done["output"][0]["content"][0]["text"] == "The stub answers."
    first, second = ([m for m in asked["messages"] if m["role"] != "system"] for asked in StubChat.asked)
    assert first == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Blue?"},
                {"type": "image_url", "image_url": {"url": IMAGE}},
            ],
        }
    ]
    assert [message["role"] for message in second] == ["user", "assistant", "tool"]
    assert second[1]["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"at": "sky"}'}
    assert second[2] == {"role": "tool", "tool_call_id": "call_1", "content": "grey"}
