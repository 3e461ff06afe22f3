"""pipecat's OpenAI Realtime service without server VAD: the pipeline says when the user has spoken, and cuts in."""

from __future__ import annotations

import asyncio

from loguru import logger
from pipecat.frames.frames import (
    ErrorFrame,
    Frame,
    InputAudioRawFrame,
    InterruptionFrame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    TTSAudioRawFrame,
    TTSTextFrame,
    UserStartedSpeakingFrame,
    UserStoppedSpeakingFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.openai.realtime.events import AudioConfiguration, AudioInput, SessionProperties
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService
from pipecat.workers.runner import WorkerRunner
from report import RATE, Report, arguments, spoken


class Ear(FrameProcessor):
    """Behind the service: what the user would hear."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self._report = report
        self.heard = self.ends = 0
        self.words = ""
        self.speaking, self.over = asyncio.Event(), asyncio.Event()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, ErrorFrame):
            self._report.error(frame.error)
        elif isinstance(frame, TTSAudioRawFrame):
            self.heard += len(frame.audio)
            self.speaking.set()
        elif isinstance(frame, TTSTextFrame):
            self.words += frame.text
        elif isinstance(frame, LLMFullResponseEndFrame) and self.words.endswith("well."):
            self.over.set()
        await self.push_frame(frame, direction)


async def main() -> None:
    url, pcm = arguments()
    report = Report()
    logger.remove()
    advice = "is not emitting turn frames"  # of this service it is meant so
    logger.add(
        report.error, level="WARNING", format="{message}", filter=lambda one: advice not in one["message"]
    )
    properties = SessionProperties(audio=AudioConfiguration(input=AudioInput(turn_detection=False)))
    llm = OpenAIRealtimeLLMService(
        api_key="unused",
        base_url=f"{url}/v1/realtime",
        settings=OpenAIRealtimeLLMService.Settings(model="any", session_properties=properties),
    )
    ear = Ear(report)
    worker = PipelineWorker(Pipeline([llm, ear]), params=PipelineParams(audio_out_sample_rate=RATE))
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    running = asyncio.create_task(runner.run())
    await worker.queue_frame(LLMContextFrame(LLMContext([{"role": "user", "content": "Where is Paris?"}])))
    async with asyncio.timeout(60):
        await ear.speaking.wait()
        await worker.queue_frames([UserStartedSpeakingFrame(), InterruptionFrame()])
        async for piece in spoken(pcm):
            await worker.queue_frame(InputAudioRawFrame(piece, RATE, 1))
        await worker.queue_frame(UserStoppedSpeakingFrame())
        await ear.over.wait()
    await worker.cancel()
    await running
    report.note(heard=ear.heard, words=ear.words)
    report.print()


asyncio.run(main())
