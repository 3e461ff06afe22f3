"""livekit's OpenAI plugin takes a new connection, as it does now and then, and tells it all that was said."""

from __future__ import annotations

import asyncio

from livekit.plugins.openai import realtime
from livekit_session import hold
from report import Report


async def reply(session: realtime.RealtimeSession) -> str:
    generation = await session.generate_reply()
    words = ""
    async for message in generation.message_stream:
        words += "".join([str(word) async for word in message.text_stream])
    return words


async def converse(session: realtime.RealtimeSession, pcm: bytes, report: Report) -> None:
    anew = asyncio.Event()
    session.on("error", lambda event: report.error(event.error))
    session.on("session_reconnected", lambda event: anew.set())
    await session.update_instructions("Count.")
    context = session.chat_ctx.copy()
    context.add_message(role="user", content="My name is Ada.")
    await session.update_chat_ctx(context)
    words = [await reply(session)]
    await anew.wait()
    words.append(await reply(session))
    said = [(item.role, item.text_content) for item in session.chat_ctx.items if item.type == "message"]
    report.note(words=words, said=said)


asyncio.run(hold(converse, max_session_duration=4.0))
