"""pipecat's OpenAI Realtime service with a function: it calls it, and asks for the answer by itself."""

from __future__ import annotations

import asyncio
from typing import Any

from loguru import logger
from pipecat.adapters.llm.schemas.function_schema import FunctionSchema
from pipecat.adapters.llm.schemas.tools_schema import ToolsSchema
from pipecat.frames.frames import (
    ErrorFrame,
    Frame,
    LLMRunFrame,
    TTSAudioRawFrame,
    TTSStoppedFrame,
    TTSTextFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.llm_service import FunctionCallParams
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService
from pipecat.workers.runner import WorkerRunner
from report import RATE, Report, arguments

CITIES: list[str] = []
WEATHER = FunctionSchema(
    name="weather",
    description="The weather in a city.",
    properties={"city": {"type": "string"}},
    required=["city"],
)


async def weather(called: FunctionCallParams) -> None:
    CITIES.append(str(called.arguments["city"]))
    await called.result_callback({"weather": "sunny"})


class Ear(FrameProcessor):
    """Behind the service: what the user would hear."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self._report = report
        self.heard = 0
        self.words = ""
        self.over = asyncio.Event()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, ErrorFrame):
            self._report.error(frame.error)
        elif isinstance(frame, TTSAudioRawFrame):
            self.heard += len(frame.audio)
        elif isinstance(frame, TTSTextFrame):
            self.words += frame.text
        elif isinstance(frame, TTSStoppedFrame) and self.heard:
            self.over.set()
        await self.push_frame(frame, direction)


async def main() -> None:
    url, _ = arguments()
    report = Report()
    logger.remove()
    logger.add(lambda told: report.error(told), level="WARNING", format="{message}")
    settings: Any = OpenAIRealtimeLLMService.Settings(model="any")
    llm = OpenAIRealtimeLLMService(api_key="unused", base_url=f"{url}/v1/realtime", settings=settings)
    llm.register_function("weather", weather)
    question = {"role": "user", "content": "What is the weather in Paris?"}
    context = LLMContext([question], tools=ToolsSchema(standard_tools=[WEATHER]))
    pair, ear = LLMContextAggregatorPair(context, realtime_service_mode=True), Ear(report)
    pipeline = Pipeline([pair.user(), llm, ear, pair.assistant()])
    worker = PipelineWorker(pipeline, params=PipelineParams(audio_out_sample_rate=RATE))
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    running = asyncio.create_task(runner.run())
    await worker.queue_frame(LLMRunFrame())
    async with asyncio.timeout(60):
        await ear.over.wait()
    await worker.cancel()
    await running
    report.note(cities=CITIES, heard=ear.heard, words=ear.words)
    report.print()


asyncio.run(main())
