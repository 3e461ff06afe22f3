"""The duplex client of vllm-omni loses its connection in the middle of an answer and comes back by itself."""

from __future__ import annotations

import asyncio

from report import Report, arguments
from vllm_omni.clients.duplex import (
    AudioFormat,
    DuplexClient,
    EventCollector,
    ReconnectPolicy,
    SessionConfig,
)

PCM = AudioFormat("pcm16", 24_000)
SOON = ReconnectPolicy(backoff_s=(0.05, 0.2))


async def converse(client: DuplexClient, report: Report) -> None:
    collector = EventCollector()
    collecting = asyncio.create_task(collector.consume(client))
    token = client.resume_token
    await client.send({"type": "input.text.append", "text": "Count."})
    await client.send({"type": "response.create"})
    response = await anext(client.responses())
    chunks, heard = 0, 0
    async for chunk in response.audio():
        chunks, heard = chunks + 1, heard + len(chunk)
        if chunks == 3:
            client._ws.transport.abort()  # the network is gone: no farewell
    await response.wait(20)
    await client.send({"type": "session.heartbeat"})
    await client.wait_for("session.heartbeat_ack", timeout_s=10)
    report.note(
        transcript=response.transcript,
        chunks=chunks,
        heard=heard,
        rotated=token != client.resume_token,
        resumed=sum(event.get("type") == "connection.resumed" for event in collector.events),
        numbers=[event["server_event_seq"] for event in collector.events if "server_event_seq" in event],
        done=[
            event["response"]["status"] for event in collector.events if event.get("type") == "response.done"
        ],
    )
    report.errors += [str(error) for error in collector.errors()]
    collecting.cancel()


async def main() -> None:
    url, _ = arguments()
    report = Report()
    config = SessionConfig(input_audio=PCM, output_audio=PCM)
    async with asyncio.timeout(60), DuplexClient(url, model="any", config=config, reconnect=SOON) as client:
        await converse(client, report)
    report.print()


asyncio.run(main())
