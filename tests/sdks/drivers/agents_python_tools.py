"""openai-agents for Python with a function: the SDK calls it and asks for the answer by itself."""

from __future__ import annotations

import asyncio
import logging

from agents import function_tool
from agents.realtime import RealtimeAgent, RealtimeRunner, RealtimeSession
from report import Complaints, Report, arguments, spoken

CITIES: list[str] = []


@function_tool
def weather(city: str) -> str:
    """The weather in a city."""
    CITIES.append(city)
    return "sunny"


async def converse(session: RealtimeSession, pcm: bytes, report: Report) -> None:
    async for frame in spoken(pcm):
        await session.send_audio(frame)
    heard = turns = 0
    async for event in session:
        if event.type == "error":
            report.error(event.error)
        elif event.type == "audio":
            heard += len(event.audio.data)
        elif event.type == "audio_end":
            turns += 1
            if turns == 2:
                break
    said = [
        (item.role, [getattr(part, "transcript", None) for part in item.content])
        for item in session._history
        if item.type == "message"
    ]
    report.note(heard=heard, cities=CITIES, said=said)


async def main() -> None:
    url, pcm = arguments()
    report = Report()
    logging.getLogger().addHandler(Complaints(report))
    agent = RealtimeAgent(name="Driver", instructions="Be brief.", tools=[weather])
    model = {"url": f"{url}/v1/realtime?model=any", "api_key": "unused"}
    session = await RealtimeRunner(agent).run(model_config=model)
    async with session, asyncio.timeout(60):
        await converse(session, pcm, report)
    report.print()


asyncio.run(main())
