"""livekit's OpenAI plugin: asks, breaks into the answer as livekit's agents do, hears the next, and prompts one."""

from __future__ import annotations

import asyncio

from livekit import rtc
from livekit.agents import llm
from livekit.plugins.openai import realtime
from livekit_session import hold
from report import RATE, Report, spoken


class Conversation:
    """One session of the plugin, and what came of it."""

    def __init__(self, session: realtime.RealtimeSession, pcm: bytes, report: Report) -> None:
        self.session, self._pcm, self._report = session, pcm, report
        self.heard = self.interrupted = 0
        self.current: llm.MessageGeneration | None = None
        self.transcripts: list[str] = []
        self.generations: asyncio.Queue[llm.GenerationCreatedEvent] = asyncio.Queue()
        session.on("error", lambda event: report.error(event.error))
        session.on("generation_created", self.generations.put_nowait)
        session.on("input_speech_started", lambda event: self._break_in())
        session.on(
            "input_audio_transcription_completed", lambda event: self.transcripts.append(event.transcript)
        )

    async def ask(self) -> None:
        async for frame in spoken(self._pcm):
            self.session.push_audio(rtc.AudioFrame(frame, RATE, 1, len(frame) // 2))

    def _break_in(self) -> None:
        """What livekit's agents do when the user speaks while they do."""
        if self.current is not None:
            self.interrupted += 1
            self.session.interrupt()
            self.session.truncate(message_id=self.current.message_id, modalities=["audio"], audio_end_ms=300)

    async def hear(self, *, break_in: bool = False) -> str:
        """The next generation: its words."""
        generation = await self.generations.get()
        words = ""
        async for message in generation.message_stream:
            self.current = message
            async for frame in message.audio_stream:
                self.heard += len(frame.data) * 2
                if break_in:
                    break_in = False
                    self._breaking_in = asyncio.create_task(self.ask())
            words += "".join([str(word) async for word in message.text_stream])
        self.current = None
        return words


async def converse(session: realtime.RealtimeSession, pcm: bytes, report: Report) -> None:
    conversation = Conversation(session, pcm, report)
    await session.update_instructions("Be brief.")
    context = session.chat_ctx.copy()
    context.add_message(role="user", content="My name is Ada.")
    await session.update_chat_ctx(context)
    await conversation.ask()
    said = [await conversation.hear(break_in=True), await conversation.hear()]
    await session.generate_reply(instructions="Say goodbye.")
    said.append(await conversation.hear())
    items = [(item.role, item.text_content) for item in session.chat_ctx.items if item.type == "message"]
    report.note(
        heard=conversation.heard,
        interrupted=conversation.interrupted,
        transcripts=conversation.transcripts,
        words=said,
        said=items,
    )


asyncio.run(hold(converse))
