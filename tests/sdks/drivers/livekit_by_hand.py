"""livekit's OpenAI plugin without server VAD: it says itself when a turn is over and when an answer is cut off."""

from __future__ import annotations

import asyncio

from livekit import rtc
from livekit.agents import llm
from livekit.plugins.openai import realtime
from livekit_session import hold
from report import RATE, Report, spoken


async def ask(session: realtime.RealtimeSession, pcm: bytes) -> llm.GenerationCreatedEvent:
    async for frame in spoken(pcm):
        session.push_audio(rtc.AudioFrame(frame, RATE, 1, len(frame) // 2))
    session.commit_audio()
    return await session.generate_reply()


async def converse(session: realtime.RealtimeSession, pcm: bytes, report: Report) -> None:
    session.on("error", lambda event: report.error(event.error))
    words = []
    first = await ask(session, pcm)
    async for message in first.message_stream:
        async for _frame in message.audio_stream:
            session.interrupt()
            session.truncate(message_id=message.message_id, modalities=["audio"], audio_end_ms=200)
            break
        words.append("".join([str(word) async for word in message.text_stream]))
    session.push_audio(rtc.AudioFrame(pcm[:9_600], RATE, 1, 4_800))
    session.clear_audio()  # what was said meanwhile is not meant
    second = await ask(session, pcm)
    async for message in second.message_stream:
        words.append("".join([str(word) async for word in message.text_stream]))
    report.note(words=words, said=[item.role for item in session.chat_ctx.items if item.type == "message"])


asyncio.run(hold(converse, turn_detection=None))
