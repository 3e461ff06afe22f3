"""The duplex client of vllm-omni: asks, acknowledges what it plays, cuts the answer off, and hears the next."""

from __future__ import annotations

import asyncio
from typing import Any

from report import Report, arguments
from vllm_omni.clients.duplex import AudioFormat, DuplexClient, EventCollector, ResponseHandle, SessionConfig

PCM = AudioFormat("pcm16", 24_000)
HEARD_MS = 400


async def hear(client: DuplexClient, response: ResponseHandle, *, cut: bool) -> int:
    """Play an answer, or as much of it as the user lets be said: bytes of audio."""
    heard = 0
    async for chunk in response.audio():
        heard += len(chunk)
        played_ms = min(response.played_ms, HEARD_MS) if cut else response.played_ms
        await client.ack_playback(played_ms, response_id=response.response_id)
        if cut and response.played_ms >= HEARD_MS:
            cut = False
            await client.cancel_response(response.response_id)
    return heard


async def converse(client: DuplexClient, pcm: bytes, report: Report) -> None:
    collector = EventCollector()
    collecting = asyncio.create_task(collector.consume(client))
    responses = client.responses()
    answers: list[dict[str, Any]] = []
    for cut in (True, False):
        await client.stream_pcm(pcm, realtime=False)
        await client.commit()
        response = await anext(responses)
        heard = await hear(client, response, cut=cut)
        await response.wait(10)
        done = response.done_event.raw["response"] if response.done_event else {}
        answers.append(
            {
                "decision": response.decision,
                "transcript": response.transcript,
                "heard": heard,
                "status": done.get("status"),
                "said": [
                    part.get("transcript") for item in done.get("output", []) for part in item["content"]
                ],
            }
        )
    await client.send({"type": "session.heartbeat"})
    await client.wait_for("session.heartbeat_ack", timeout_s=10)
    report.note(
        answers=answers,
        joined=[collector.response_text(one) for one in collector.response_ids],
        timing=collector.timing_summary(after_s=0.0, response_id=collector.response_ids[-1]),
        session=client.session_id,
        seen=sorted({str(event["type"]) for event in collector.events}),
    )
    report.errors += [str(error) for error in collector.errors()]
    collecting.cancel()


async def main() -> None:
    url, pcm = arguments()
    report = Report()
    config = SessionConfig(instructions="Be brief.", input_audio=PCM, output_audio=PCM)
    async with asyncio.timeout(60), DuplexClient(url, model="any", config=config) as client:
        await converse(client, pcm, report)
    report.print()


asyncio.run(main())
