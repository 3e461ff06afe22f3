"""pipecat's OpenAI Realtime service: it is given a context, its answer is broken into, and it hears the next."""

from __future__ import annotations

import asyncio
from typing import Any

from loguru import logger
from pipecat.frames.frames import (
    ErrorFrame,
    Frame,
    InputAudioRawFrame,
    LLMContextFrame,
    ProposedUserStartedSpeakingFrame,
    TTSAudioRawFrame,
    TTSTextFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.openai.realtime.events import (
    AudioConfiguration,
    AudioInput,
    InputAudioTranscription,
    SemanticTurnDetection,
    SessionProperties,
)
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService
from pipecat.workers.runner import WorkerRunner
from report import RATE, Report, arguments, spoken


class Ear(FrameProcessor):
    """Behind the service: what the user would hear, and who speaks when."""

    def __init__(self, report: Report, pcm: bytes) -> None:
        super().__init__()
        self._report, self._pcm = report, pcm
        self.heard = bytearray()
        self.words: list[str] = []
        self.started = 0
        self.asked = False

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, ErrorFrame):
            self._report.error(frame.error)
        elif isinstance(frame, TTSAudioRawFrame):
            self.heard += frame.audio
            if not self.asked:
                self.asked = True
                self._breaking_in = asyncio.create_task(self._break_in())
        elif isinstance(frame, TTSTextFrame):
            self.words.append(frame.text)
        elif isinstance(frame, ProposedUserStartedSpeakingFrame):
            self.started += 1
        await self.push_frame(frame, direction)

    async def _break_in(self) -> None:
        async for piece in spoken(self._pcm):
            await self.push_frame(InputAudioRawFrame(piece, RATE, 1), FrameDirection.UPSTREAM)


class Mouth(FrameProcessor):
    """Before the service: turns the user's audio around, for the service listens downstream."""

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        back = isinstance(frame, InputAudioRawFrame) and direction is FrameDirection.UPSTREAM
        await self.push_frame(frame, FrameDirection.DOWNSTREAM if back else direction)


def service(url: str) -> OpenAIRealtimeLLMService:
    hears = AudioInput(transcription=InputAudioTranscription(), turn_detection=SemanticTurnDetection())
    properties = SessionProperties(instructions="Be brief.", audio=AudioConfiguration(input=hears))
    return OpenAIRealtimeLLMService(
        api_key="unused",
        base_url=f"{url}/v1/realtime",
        settings=OpenAIRealtimeLLMService.Settings(model="any", session_properties=properties),
    )


async def main() -> None:
    url, pcm = arguments()
    report = Report()
    logger.remove()
    logger.add(lambda told: report.error(told), level="WARNING", format="{message}")
    llm, ear, over = service(url), Ear(report, pcm), asyncio.Event()
    items: dict[str, Any] = {}

    @llm.event_handler("on_conversation_item_updated")
    async def updated(_service: object, item_id: str, item: Any) -> None:
        if item is None:  # its transcript came
            return
        items[item_id] = item
        if [one.role for one in items.values()].count("assistant") == 2:
            over.set()

    worker = PipelineWorker(Pipeline([Mouth(), llm, ear]), params=PipelineParams(audio_out_sample_rate=RATE))
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    running = asyncio.create_task(runner.run())
    await worker.queue_frame(LLMContextFrame(LLMContext([{"role": "user", "content": "Where is Paris?"}])))
    async with asyncio.timeout(60):
        await over.wait()
        await llm.retrieve_conversation_item(next(iter(items)))
    await worker.cancel()
    await running
    said = [
        (item.role, [part.transcript or part.text for part in item.content], item.status)
        for item in items.values()
    ]
    report.note(heard=len(ear.heard), words="".join(ear.words), interrupted=ear.started, said=said)
    report.print()


asyncio.run(main())
