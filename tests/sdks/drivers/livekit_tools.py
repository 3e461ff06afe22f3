"""livekit's OpenAI plugin with a function: the agent runs it, gives back what came of it, and asks for the answer."""

from __future__ import annotations

import asyncio

from livekit import rtc
from livekit.agents import function_tool, llm
from livekit.plugins.openai import realtime
from livekit_session import hold
from report import RATE, Report, spoken


@function_tool
async def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


async def converse(session: realtime.RealtimeSession, pcm: bytes, report: Report) -> None:
    generations: asyncio.Queue[llm.GenerationCreatedEvent] = asyncio.Queue()
    session.on("generation_created", generations.put_nowait)
    session.on("error", lambda event: report.error(event.error))
    await session.update_tools([weather])
    async for frame in spoken(pcm):
        session.push_audio(rtc.AudioFrame(frame, RATE, 1, len(frame) // 2))
    first = await generations.get()
    calls = [call async for call in first.function_stream]
    context = session.chat_ctx.copy()
    for call in calls:
        output = llm.FunctionCallOutput(call_id=call.call_id, name=call.name, output="sunny", is_error=False)
        context.items.append(output)
    await session.update_chat_ctx(context)
    reply = await session.generate_reply()
    words = ""
    async for message in reply.message_stream:
        words += "".join([str(word) async for word in message.text_stream])
    kinds = [item.type for item in session.chat_ctx.items]
    report.note(calls=[(call.call_id, call.name, call.arguments) for call in calls], words=words, kinds=kinds)


asyncio.run(hold(converse))
