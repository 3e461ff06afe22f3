"""openai-agents for Python: asks, breaks into the answer, and hears the next one to its end."""

from __future__ import annotations

import asyncio
import logging

from agents.realtime import RealtimeAgent, RealtimeModelConfig, RealtimeRunner, RealtimeSession
from report import TELEPHONE, Complaints, Report, arguments, spoken


async def ask(session: RealtimeSession, pcm: bytes) -> None:
    async for frame in spoken(pcm):
        await session.send_audio(frame)


async def converse(session: RealtimeSession, pcm: bytes, report: Report) -> None:
    heard, turns, interrupted, raw = bytearray(), 0, [], []
    await ask(session, pcm)
    async for event in session:
        if event.type == "error":
            report.error(event.error)
        elif event.type == "raw_model_event":
            raw.append(event.data.type)
            if event.data.type == "exception":
                report.error(event.data)
        elif event.type == "audio":
            if not heard:
                breaking_in = asyncio.create_task(ask(session, pcm))
            heard += event.audio.data
        elif event.type == "audio_interrupted":
            interrupted.append(event.item_id)
        elif event.type == "audio_end":
            turns += 1
            if turns == 2:
                break
    await breaking_in
    said = [
        (
            item.role,
            [getattr(part, "transcript", None) for part in item.content],
            getattr(item, "status", None),
        )
        for item in session._history  # what the SDK has put together of all events
        if item.type == "message"
    ]
    report.note(heard=len(heard), interrupted=len(interrupted), turns=turns, said=said, raw=sorted(set(raw)))


async def main() -> None:
    url, pcm = arguments()
    report = Report()
    logging.getLogger().addHandler(Complaints(report))
    runner = RealtimeRunner(RealtimeAgent(name="Driver", instructions="Be brief."))
    model: RealtimeModelConfig = {"url": f"{url}/v1/realtime?model=any", "api_key": "unused"}
    if TELEPHONE:
        model["initial_model_settings"] = {
            "input_audio_format": "g711_ulaw",
            "output_audio_format": "g711_ulaw",
        }
    session = await runner.run(model_config=model)
    async with session, asyncio.timeout(60):
        await converse(session, pcm, report)
    report.print()


asyncio.run(main())
