"""The official `openai` SDK, unmodified, against a real server with the echo stage."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from openai import AsyncOpenAI
from openai.resources.realtime.realtime import AsyncRealtimeConnection
from openai.types.websocket_reconnection import ReconnectingEvent, ReconnectingOverrides

from bench.ports import free_port
from tests.serving import RunningServer, running


@asynccontextmanager
async def connected(server: RunningServer, **session: Any) -> AsyncIterator[AsyncRealtimeConnection]:
    client = AsyncOpenAI(base_url=f"{server.base}/v1", api_key="unused")
    async with client.realtime.connect(model="anything") as connection:
        assert (await connection.recv()).type == "session.created"
        if session:
            await connection.session.update(session={"type": "realtime", **session})  # type: ignore[typeddict-item]
            assert (await connection.recv()).type == "session.updated"
        yield connection


MANUAL = {"audio": {"input": {"turn_detection": None}}}


def tone(seconds: float, hertz: float = 440.0) -> bytes:
    t = np.arange(int(24_000 * seconds)) / 24_000
    return (np.sin(2 * np.pi * hertz * t) * 12_000).astype("<i2").tobytes()


async def append(connection: AsyncRealtimeConnection, pcm: bytes, size: int = 3840) -> None:
    for start in range(0, len(pcm), size):
        audio = base64.b64encode(pcm[start : start + size]).decode()
        await connection.input_audio_buffer.append(audio=audio)


async def until(connection: AsyncRealtimeConnection, kind: str) -> list[Any]:
    events: list[Any] = []
    while not events or events[-1].type != kind:
        events.append(await connection.recv())
    return events


def audio_of(events: list[Any]) -> bytes:
    return b"".join(base64.b64decode(e.delta) for e in events if e.type == "response.output_audio.delta")


async def test_a_tone_through_echo_comes_back_sample_exact(echo_server: RunningServer) -> None:
    pcm = tone(3.0)
    async with connected(echo_server, **MANUAL) as connection:
        await append(connection, pcm)
        await connection.input_audio_buffer.commit()
        events = await until(connection, "response.done")
    assert audio_of(events) == pcm
    assert events[-1].response.status == "completed"


async def test_a_response_is_announced_before_it_speaks_and_closed_before_it_is_done(
    echo_server: RunningServer,
) -> None:
    async with connected(echo_server, **MANUAL) as connection:
        await append(connection, tone(0.2))
        await connection.input_audio_buffer.commit()
        events = await until(connection, "response.done")
    of_response = [e.type for e in events if e.type.startswith("response.")]
    assert of_response[:3] == [
        "response.created",
        "response.output_item.added",
        "response.content_part.added",
    ]
    assert of_response[-5:] == [
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.done",
    ]
    numbers = [int(e.event_id.removeprefix("event_")) for e in events]
    assert numbers == sorted(set(numbers))


async def test_after_a_cancel_nothing_of_the_response_is_said(echo_server: RunningServer) -> None:
    async with connected(echo_server, **MANUAL) as connection:
        await append(connection, tone(1.0))
        created = (await until(connection, "response.created"))[-1].response.id
        await connection.response.cancel()
        events = await until(connection, "response.done")
        assert events[-1].response.status == "cancelled"
        assert events[-1].response.status_details.reason == "client_cancelled"
        await append(connection, tone(0.2))
        await connection.input_audio_buffer.commit()
        later = await until(connection, "response.done")
    assert not [e for e in later if getattr(e, "response_id", None) == created]


async def test_items_can_be_put_read_and_taken_away(echo_server: RunningServer) -> None:
    async with connected(echo_server) as connection:
        await connection.conversation.item.create(
            item={
                "id": "mine",
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "Hello"}],
            }
        )
        assert (await connection.recv()).type == "conversation.item.added"
        assert (await connection.recv()).type == "conversation.item.done"
        for _ in range(2):
            await connection.conversation.item.retrieve(item_id="mine")
            retrieved: Any = await connection.recv()
            assert retrieved.type == "conversation.item.retrieved"
            assert retrieved.item.content[0].text == "Hello"
        await connection.conversation.item.create(
            item={"id": "mine", "type": "message", "role": "user", "content": []}, event_id="again"
        )
        twice: Any = await connection.recv()
        assert (twice.error.code, twice.error.event_id) == ("item_create_duplicate_item_id", "again")
        await connection.conversation.item.delete(item_id="mine")
        assert (await connection.recv()).type == "conversation.item.deleted"


async def test_partial_updates_merge_and_what_was_asked_is_shown_back(echo_server: RunningServer) -> None:
    asked = {"audio": {"input": {"turn_detection": {"type": "semantic_vad", "interrupt_response": True}}}}
    async with connected(echo_server, instructions="Be brief.", **asked) as connection:
        await connection.session.update(session={"type": "realtime", "tracing": "auto"})
        updated: Any = (await until(connection, "session.updated"))[-1].session
    detection = updated.audio.input.turn_detection
    assert updated.instructions == "Be brief."
    assert (detection.type, detection.interrupt_response, detection.create_response) == (
        "semantic_vad",
        True,
        True,
    )
    assert updated.audio.input.format.rate == updated.audio.output.format.rate == 24_000


async def test_truncation_is_clamped_and_the_item_can_be_read_after_it(echo_server: RunningServer) -> None:
    async with connected(echo_server, **MANUAL) as connection:
        await append(connection, tone(0.5))
        await connection.input_audio_buffer.commit()
        item = (await until(connection, "response.done"))[-1].response.output[0].id
        for asked, told in ((57_340, 500), (200, 200), (0, 0)):
            await connection.conversation.item.truncate(item_id=item, content_index=0, audio_end_ms=asked)
            truncated: Any = await connection.recv()
            assert (truncated.type, truncated.audio_end_ms) == ("conversation.item.truncated", told)
        await connection.conversation.item.retrieve(item_id=item)
        assert (await connection.recv()).type == "conversation.item.retrieved"


async def test_a_written_turn_is_answered_also_by_a_stage_that_hears_continuously(
    echo_server: RunningServer,
) -> None:
    async with connected(echo_server, **MANUAL) as connection:
        await connection.conversation.item.create(
            item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}
        )
        await connection.response.create(response={"metadata": {"mine": "1"}})
        events = await until(connection, "response.done")
    [created] = [e for e in events if e.type == "response.created"]
    assert created.response.metadata == {"mine": "1"}
    assert events[-1].response.status == "completed"
    assert events[-1].response.output[0].content[0].transcript == "Hello"


SCRIPT = Path(__file__).with_name("counting_script.toml")
COUNT = "one two three four five six seven eight nine ten eleven twelve "


async def test_over_a_restart_of_the_server_an_answer_is_heard_whole(tmp_path: Path) -> None:
    """The SDK reconnects by itself after 1012; its hook says in the query which session it comes back to."""
    (tmp_path / "antiphon.toml").write_text(f'[stage.scripted]\nscript = "{SCRIPT}"\n')
    port = free_port()
    server = partial(
        running, tmp_path / "data", "--config", str(tmp_path / "antiphon.toml"), stage="scripted", port=port
    )
    heard: list[Any] = []
    closed: list[int] = []

    def come_back(event: ReconnectingEvent) -> ReconnectingOverrides:
        closed.append(event.close_code)
        session = [one.session for one in heard if one.type == "session.created"][-1]
        return {
            "extra_query": {
                "session_id": session.id,
                "resume_token": session.resume_token,
                "after": heard[-1].event_id,
            }
        }

    async def hear(connection: AsyncRealtimeConnection, speaking: asyncio.Event) -> None:
        async for event in connection:
            heard.append(event)
            if event.type == "session.created" and len(heard) == 1:
                await connection.response.create()
            elif event.type == "response.output_audio.delta":
                speaking.set()
            elif event.type == "response.done":
                return

    client = AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="unused")
    patient: Any = {"on_reconnecting": come_back, "max_retries": 100, "initial_delay": 0.1, "max_delay": 0.5}
    with ExitStack() as servers:
        await asyncio.to_thread(servers.enter_context, server())
        async with client.realtime.connect(model="anything", **patient) as connection, asyncio.timeout(60):
            speaking = asyncio.Event()
            hearing = asyncio.create_task(hear(connection, speaking))
            await speaking.wait()
            await asyncio.to_thread(servers.close)
            await asyncio.to_thread(servers.enter_context, server())
            await hearing

    assert closed[0] == 1012
    assert "".join(e.delta for e in heard if e.type == "response.output_audio_transcript.delta") == COUNT
    numbered = [int(e.event_id.removeprefix("event_")) for e in heard if e.event_id != "event_reply_1"]
    assert numbered == sorted(set(numbered))
    assert [e.type for e in heard].count("response.done") == 1
    assert heard[-1].response.status == "completed"
