"""What a client can get wrong: a typed error with its event id, the state untouched, the session alive."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from antiphon.actors.session.evolve import refold
from antiphon.actors.session.state import Session
from antiphon.events.segments.log import SegmentLog
from antiphon.events.vocabulary import ResponseEnded, SessionExpired
from tests.serving import RunningServer

from .wire import Wire, wire

CASES: list[tuple[str, dict[str, Any] | str | bytes, str, str | None]] = [
    ("not JSON", "{", "invalid_json", None),
    ("not an object", "[1]", "invalid_json", "type"),
    ("no type", {"event_id": "e"}, "invalid_json", "type"),
    ("a type that is no string", {"type": 3, "event_id": "e"}, "invalid_json", "type"),
    ("NaN in JSON", '{"type":"response.create","x":NaN}', "invalid_json", None),
    ("binary", b"\x00\x01", "invalid_json", None),
    ("an unknown event", {"type": "conversation.sing", "event_id": "e"}, "unknown_event", "type"),
    ("a wrong type", {"type": "input_audio_buffer.append", "audio": 5, "event_id": "e"}, "invalid_type", "audio"),
    ("a missing member", {"type": "input_audio_buffer.append", "event_id": "e"}, "invalid_type", "audio"),
    ("bad base64", {"type": "input_audio_buffer.append", "audio": "###", "event_id": "e"}, "invalid_audio", "audio"),
    ("no audio to commit", {"type": "input_audio_buffer.commit", "event_id": "e"}, "input_audio_buffer_commit_empty", None),
    ("nothing to cancel", {"type": "response.cancel", "event_id": "e"}, "response_cancel_not_active", None),
    ("an unknown item", {"type": "conversation.item.delete", "item_id": "no", "event_id": "e"}, "item_not_found", "item_id"),
    (
        "retrieving an unknown item",
        {"type": "conversation.item.retrieve", "item_id": "no", "event_id": "e"},
        "item_retrieve_invalid_item_id",
        "item_id",
    ),
    (
        "truncating an unknown item",
        {"type": "conversation.item.truncate", "item_id": "no", "audio_end_ms": 5, "event_id": "e"},
        "item_not_found",
        "item_id",
    ),
    (
        "a wrong format",
        {"type": "session.update", "session": {"audio": {"input": {"format": {"type": "audio/opus"}}}}, "event_id": "e"},
        "unsupported_audio_format",
        "session.audio.input.format",
    ),
    (
        "a wrong rate",
        {
            "type": "session.update",
            "session": {"audio": {"output": {"format": {"type": "audio/pcm", "rate": 16000}}}},
            "event_id": "e",
        },
        "unsupported_audio_format",
        "session.audio.output.format",
    ),
    (
        "a threshold out of range",
        {
            "type": "session.update",
            "session": {"audio": {"input": {"turn_detection": {"type": "server_vad", "threshold": 7}}}},
            "event_id": "e",
        },
        "invalid_value",
        "session.audio.input.turn_detection.threshold",
    ),
    (
        "an unknown turn detection",
        {
            "type": "session.update",
            "session": {"audio": {"input": {"turn_detection": {"type": "telepathy"}}}},
            "event_id": "e",
        },
        "invalid_value",
        "session.audio.input.turn_detection.type",
    ),
    (
        "instructions that are no string",
        {"type": "session.update", "session": {"instructions": 4}, "event_id": "e"},
        "invalid_type",
        "session.instructions",
    ),
    ("a session that is no object", {"type": "session.update", "session": [], "event_id": "e"}, "invalid_type", "session"),
    (
        "audio in an item",
        {
            "type": "conversation.item.create",
            "item": {"type": "message", "role": "user", "content": [{"type": "input_audio", "audio": ""}]},
            "event_id": "e",
        },
        "unsupported_content",
        "item.content",
    ),
    ("an endless event id", {"type": "response.cancel", "event_id": "e" * 2_000_000}, "invalid_value", "event_id"),
    ("an endless item id", {"type": "conversation.item.delete", "item_id": "i" * 600, "event_id": "e"}, "invalid_value", "item_id"),
    ("a depth nobody means", '{"type":"response.create","x":' + "[" * 100_000 + "]" * 100_000 + "}", "nested_too_deeply", None),
    ("a depth in the session", '{"type":"session.update","session":{"tracing":' + "[" * 900 + "]" * 900 + "}}", "invalid_value", "session"),
    (
        "a number no event holds",
        {"type": "session.update", "session": {"tracing": 2**64}, "event_id": "e"},
        "invalid_value",
        "session",
    ),
    (
        "a number no float holds",
        '{"type":"session.update","session":{"temperature":1e999}}',
        "invalid_value",
        "session.temperature",
    ),
    (
        "a number no float holds, of what is only shown back",
        '{"type":"session.update","session":{"tracing":{"a":1e999}}}',
        "invalid_value",
        "session.[...][...]",
    ),
    (
        "a temperature below zero",
        {"type": "session.update", "session": {"temperature": -1.5}, "event_id": "e"},
        "invalid_value",
        "session.temperature",
    ),
    (
        "an answer of too many tokens",
        {"type": "response.create", "response": {"max_output_tokens": 10**30}, "event_id": "e"},
        "invalid_value",
        "response.max_output_tokens",
    ),
    (
        "an answer of no tokens",
        {"type": "response.create", "response": {"max_output_tokens": 0}, "event_id": "e"},
        "invalid_value",
        "response.max_output_tokens",
    ),
    (
        "a content index below zero",
        {"type": "conversation.item.truncate", "item_id": "no", "audio_end_ms": 5, "content_index": -1, "event_id": "e"},
        "invalid_value",
        "content_index",
    ),
    (
        "an item too large to be kept",
        {
            "type": "conversation.item.create",
            "item": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x" * 2_000_000}]},
            "event_id": "e",
        },
        "event_too_large",
        None,
    ),
    (
        "instructions too large to be kept",
        {"type": "session.update", "session": {"instructions": "x" * 2_000_000}, "event_id": "e"},
        "event_too_large",
        None,
    ),
    (
        "metadata that are no strings",
        {"type": "response.create", "response": {"metadata": {"a": 1}}, "event_id": "e"},
        "invalid_type",
        "response.metadata[...]",
    ),
]  # fmt: skip


async def alive(wire: Wire) -> None:
    """The session answers as if nothing had happened."""
    await wire.send({"type": "input_audio_buffer.clear"})
    assert (await wire.next())["type"] == "input_audio_buffer.cleared"


@pytest.mark.parametrize(
    ("frame", "code", "param"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
async def test_a_mistake_is_answered_by_name_and_the_session_lives(
    echo_server: RunningServer, frame: dict[str, Any] | str | bytes, code: str, param: str | None
) -> None:
    async with wire(echo_server) as client:
        await client.next("session.created")
        await client.manual()
        await client.send(frame)
        answer = await client.next()
        assert answer["type"] == "error"
        assert answer["error"]["code"] == code
        assert answer["error"]["param"] == param
        assert answer["error"]["message"]
        expected = frame.get("event_id") if isinstance(frame, dict) else None
        assert answer["error"]["event_id"] == (expected if expected == "e" else None)
        await alive(client)


async def test_an_update_is_taken_as_a_whole_or_not_at_all(echo_server: RunningServer) -> None:
    async with wire(echo_server) as client:
        created = await client.next("session.created")
        bad = {"instructions": "sing", "audio": {"input": {"format": {"type": "audio/opus"}}}}
        await client.send({"type": "session.update", "session": bad})
        assert (await client.next())["error"]["code"] == "unsupported_audio_format"
        await client.send({"type": "session.update", "session": {"tracing": None}})
        updated = await client.next("session.updated")
        assert updated["session"]["instructions"] == created["session"]["instructions"] == ""


async def test_half_a_sample_waits_for_its_other_half(echo_server: RunningServer) -> None:
    pcm = bytes(range(256)) * 31
    async with wire(echo_server) as client:
        await client.next("session.created")
        await client.manual()
        for start in range(0, len(pcm), 1323):
            await client.append(pcm[start : start + 1323])
        await client.send({"type": "input_audio_buffer.commit"})
        frames = await client.until("response.done")
        deltas = [base64.b64decode(f["delta"]) for f in frames if f["type"] == "response.output_audio.delta"]
        assert b"".join(deltas) == pcm
        assert all(len(delta) % 2 == 0 for delta in deltas)


async def test_a_frame_that_is_too_large_is_refused_and_the_next_one_is_read(
    echo_server: RunningServer,
) -> None:
    async with wire(echo_server) as client:
        await client.next("session.created")
        await client.send(
            json.dumps({"type": "input_audio_buffer.append", "audio": "A" * (15 * 1024 * 1024)})
        )
        assert (await client.next())["error"]["code"] == "event_too_large"
        await alive(client)


async def test_a_client_that_does_nothing_but_err_is_let_go(echo_server: RunningServer) -> None:
    async with wire(echo_server) as client:
        for _ in range(150):
            await client.send("{")
        with pytest.raises(ConnectionClosed):
            await client.until("nothing")
        assert client.socket.close_code == 1008


async def test_a_client_that_vanishes_while_it_is_answered_ends_its_session_in_order(
    echo_server: RunningServer,
) -> None:
    async with wire(echo_server) as client:
        session = (await client.next("session.created"))["session"]["id"]
        await client.manual()
        await client.append(b"\1\0" * 9600)
        await client.next("response.output_audio.delta")
        client.socket.transport.abort()
    await asyncio.to_thread(echo_server.wait_until, lambda: not echo_server.get("/health").json()["sessions"])
    store = SegmentLog(echo_server.data, deliver=lambda call: call())
    events = [stored.event for stored in store.read(session)]
    assert [e.outcome for e in events if isinstance(e, ResponseEnded)] == ["cancelled"]
    assert [e.reason for e in events if isinstance(e, SessionExpired)] == ["disconnect_grace_expired"]
    assert session not in echo_server.log()


async def test_a_client_that_vanishes_leaves_a_log_that_folds(echo_server: RunningServer) -> None:
    async with wire(echo_server) as client:
        session = (await client.next("session.created"))["session"]["id"]
        await client.append(b"\1\0" * 9600)
        client.socket.transport.abort()
    await asyncio.to_thread(echo_server.wait_until, lambda: not echo_server.get("/health").json()["sessions"])
    store = SegmentLog(echo_server.data, deliver=lambda call: call())
    state = Session(session)
    for stored in store.read(session):
        state = refold(state, stored)
    assert state.phase == "closed", echo_server.log()
    assert not state.holding, echo_server.log()
    assert store.head(session).sealed
