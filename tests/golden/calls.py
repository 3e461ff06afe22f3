"""Real calls to be kept: a real server, real sockets, and what a client may do in a minute."""

from __future__ import annotations

import array
import asyncio
import math
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from tests.serving import RunningServer, running
from tests.web.moshi import AUDIO, METADATA, moshi
from tests.web.phone import phone, question, silence
from tests.web.wire import Wire, wire

QUESTION = Path(__file__).parents[2] / "bench/questions/01-what-is-the-capital-of-france.wav"

Call = Callable[[RunningServer], Awaitable[None]]


def tone(ms: int, hertz: int = 440) -> bytes:
    turn = 2 * math.pi * hertz / 24_000
    return array.array("h", [int(3_000 * math.sin(turn * n)) for n in range(24 * ms)]).tobytes()


async def echo(server: RunningServer) -> None:
    """Audio there and back, and something nobody understands."""
    async with wire(server) as call:
        await call.next("session.created")
        for k in range(5):
            await call.append(tone(80, 300 + 50 * k))
            await call.next("response.output_audio.delta")
        await call.send({"type": "nonsense"})
        await call.next("error")


async def duplex(server: RunningServer) -> None:
    """The duplex dialect: audio there and back, acknowledged, and an orderly end."""
    async with wire(server, "?duplex=1") as call:
        await call.send({"type": "session.update", "session": {"extra_body": {"auto_response": True}}})
        await call.next("session.updated")
        await call.append(tone(200))
        spoken = await call.next("response.output_audio.delta")
        await call.send(
            {
                "type": "playback.ack",
                "response_id": spoken["response_id"],
                "played_ms": 100,
                "event_id": "mine",
            }
        )
        await call.next("playback.acknowledged")
        await call.send({"type": "turn.signal", "event": "user_started"})
        await call.next("turn.event")
        await call.send({"type": "session.close"})
        await call.next("session.closed")


async def scripted(server: RunningServer) -> None:
    """Items, answers, a cancel, a truncation, refusals."""
    async with wire(server) as call:
        await call.manual()
        await _say(call, "Hello there")
        await call.send({"type": "response.create"})
        frames = await call.until("response.done")
        said = next(one for one in frames if one["type"] == "response.output_item.added")["item"]["id"]
        await call.append(tone(200))
        await call.send({"type": "input_audio_buffer.commit"})
        committed = await call.next("input_audio_buffer.committed")
        await call.send({"type": "response.create"})
        await call.next("response.output_audio.delta")
        await call.send({"type": "response.cancel"})
        await call.next("response.done")
        await call.send(
            {"type": "conversation.item.truncate", "item_id": said, "content_index": 0, "audio_end_ms": 250}
        )
        await call.next("conversation.item.truncated")
        await call.send({"type": "conversation.item.delete", "item_id": committed["item_id"]})
        await call.next("conversation.item.deleted")
        await call.send({"type": "conversation.item.delete", "item_id": "nobody", "event_id": "mine"})
        await call.next("error")
        await call.append(tone(120))
        await call.send({"type": "input_audio_buffer.clear"})
        await call.next("input_audio_buffer.cleared")
        await call.send({"type": "response.create", "response": {"output_modalities": ["text"]}})
        await call.next("response.done")


async def killed(server: RunningServer) -> None:
    """The serving process dies in the middle of an answer."""
    async with wire(server) as call:
        await call.manual()
        await _say(call, "Speak")
        await call.send({"type": "response.create"})
        for _ in range(3):
            await call.next("response.output_audio.delta")
        server.kill()


async def native(server: RunningServer) -> None:
    """In flat frames of their own: a written question, its answer, an acknowledgement."""
    async with wire(server, path="/v1/duplex") as call:
        await call.send({"type": "session.create", "session": {}})
        await call.next("session.created")
        await call.send({"type": "push_text", "text": "Hello there"})
        await call.send({"type": "response.create"})
        done = await call.next("response.done")
        await call.send({"type": "playback.ack", "played_ms": 300, "response_id": done["response_id"]})
        await call.next("playback.acknowledged")
        await call.send({"type": "close_session"})
        await call.next("session.closed")


async def telephone(server: RunningServer) -> None:
    """By the beta's names, in the telephone's encoding."""
    async with wire(server, additional_headers={"OpenAI-Beta": "realtime=v1"}) as call:
        formats = {"input_audio_format": "g711_ulaw", "output_audio_format": "g711_ulaw"}
        await call.send({"type": "session.update", "session": {**formats, "turn_detection": None}})
        await call.next("session.updated")
        content = [{"type": "input_text", "text": "Hello there"}]
        item = {"type": "message", "role": "user", "content": content}
        await call.send({"type": "conversation.item.create", "item": item})
        await call.send({"type": "response.create"})
        await call.next("response.done")


async def resumed(server: RunningServer) -> None:
    """The connection is lost in the middle of an answer; the client comes back, and another takes over."""
    waits = "?duplex=1&autostart=0"
    async with wire(server, waits) as call:
        await call.send({"type": "session.update", "session": {}, "event_id": "evt_1"})
        created = await call.next("session.created")
        await call.send({"type": "input.text.append", "text": "Hello there", "event_id": "evt_2"})
        await call.send({"type": "response.create", "event_id": "evt_3"})
        last = (await call.next("response.output_audio.delta"))["server_event_seq"]
        call.socket.transport.abort()
    place = {"session_id": created["session"]["id"], "last_received_server_event_seq": last}
    back = {"type": "session.resume", "resume_token": created["resume_token"], **place}
    async with wire(server, waits) as second, wire(server, waits) as third:
        await second.send(back)
        token = (await second.next("session.resumed"))["resume_token"]
        await second.send({"type": "session.heartbeat"})
        await second.next("response.done")
        await third.send({**back, "resume_token": token})
        await third.next("session.resumed")
        await second.next("session.replaced")
        await third.send({"type": "session.close"})
        await third.next("session.closed")


async def half_duplex(server: RunningServer) -> None:
    """One after the other: audio before it is prepared, a question, its answer, a stop in mid-word."""
    async with phone(server, "hdx_golden") as call:
        await call.chunk(silence(0.1))
        await call.next("error")
        await call.begin(tts={"enabled": True}, session={"timeout_s": 60})
        await call.ask()
        await call.speak(question())
        await asyncio.sleep(1.2)
        await call.speak(question())
        await call.next("vad_state")
        await call.send({"type": "stop"})
        await call.next("stopped")


async def chat(server: RunningServer) -> None:
    """Over the Moshi wire: Opus there and back, garbage, a lost connection, and the same session again."""
    async with moshi(server, "?resumable=1&seed=7") as call:
        await call.until(METADATA)
        await call.say(5, every_s=0.08)
        await call.send(AUDIO, b"garbage" * 20)
        await call.say(3, every_s=0.08)
        await call.until(AUDIO, 3)
        place = call.metadata
        call.socket.transport.abort()
    back = f"?session_id={place['session_id']}&resume_token={place['resume_token']}"
    async with moshi(server, back) as again:
        await again.until(METADATA)
        await again.say(3, every_s=0.08)
        await again.until(AUDIO, 3)


async def spoken(server: RunningServer) -> None:
    """A question that is heard, understood and answered by the embedded models."""
    command = [
        "say",
        str(QUESTION),
        "--url",
        f"ws://127.0.0.1:{server.port}/v1/realtime",
        "--output",
        os.devnull,
    ]
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "antiphon.cli", *command)
    if await process.wait():
        raise RuntimeError("the question was not answered")


async def _say(call: Wire, text: str) -> None:
    content = [{"type": "input_text", "text": text}]
    item = {"type": "message", "role": "user", "content": content}
    await call.send({"type": "conversation.item.create", "item": item})
    await call.next("conversation.item.done")


CALLS: Mapping[str, tuple[str, Call]] = {
    "echo": ("echo", echo),
    "duplex": ("echo", duplex),
    "scripted": ("scripted", scripted),
    "killed": ("scripted", killed),
    "native": ("scripted", native),
    "telephone": ("scripted", telephone),
    "resumed": ("scripted", resumed),
    "half_duplex": ("scripted", half_duplex),
    "chat": ("echo", chat),
    "spoken": ("cascade", spoken),
}
"""By name: the stage, and the call."""


def record(name: str, data: Path) -> None:
    """Make the call against a server that keeps its logs in `data`."""
    stage, call = CALLS[name]
    with running(data, stage=stage) as server:
        asyncio.run(call(server))
