"""vLLM by itself: its own sampling, one asyncio loop, streaming input. Of ours only what is needed to give it
a unit at all: its Qwen3 with embeddings in the place of tokens (vllm_streaming.model)."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import uvloop

from antiphon.actors.stages.vllm_streaming.inputs import engine_input, lay
from antiphon.actors.stages.vllm_streaming.options import Options, engine_arguments, set_environment
from bench.thinker.figures import Run
from bench.thinker.units import LISTEN, LISTENS_EVERY, SPOKEN, Speaker, Told, paced


class _Session:
    def __init__(self, llm: Any, speaker: Speaker, name: str) -> None:
        self._appends: asyncio.Queue[Any] = asyncio.Queue()
        self._speaker, self._name, self._dtype = speaker, name, llm.model_config.dtype
        self._outputs = llm.generate(self._inputs(), _params(listens=True), name)

    async def _inputs(self) -> AsyncGenerator[Any, None]:
        while True:
            yield await self._appends.get()

    async def unit(self) -> Told:
        from vllm.engine.protocol import StreamingInput

        listens = self._speaker.listens
        append = self._speaker.next()
        asked = time.monotonic_ns()
        given = engine_input(lay(append), f"{self._name}-{append.number}", self._dtype)
        self._appends.put_nowait(StreamingInput(given, _params(listens=listens)))
        tokens: list[int] = []
        async for output in self._outputs:
            tokens += [time.monotonic_ns()] * len(output.outputs[0].token_ids)
            if output.outputs[0].finish_reason is not None:
                break
        return Told(asked, tokens, listens)

    async def close(self) -> None:
        await self._outputs.aclose()


def _params(*, listens: bool) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    return SamplingParams(
        temperature=0.7,
        top_p=0.8,
        top_k=20,
        max_tokens=SPOKEN,
        allowed_token_ids=[LISTEN] if listens else None,
        stop_token_ids=[LISTEN],
        ignore_eos=True,
        detokenize=False,
        output_kind=RequestOutputKind.DELTA,
    )


@contextlib.contextmanager
def _engine(options: Options, loop: asyncio.AbstractEventLoop) -> Iterator[Any]:
    set_environment()
    import torch
    from vllm import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    arguments = engine_arguments(options, on_gpu=torch.cuda.is_available(), additional={})
    del arguments["logits_processors"]

    async def start() -> Any:
        return AsyncLLM.from_engine_args(AsyncEngineArgs(**arguments))

    llm = loop.run_until_complete(start())
    try:
        yield llm
    finally:
        llm.shutdown()


def measure(
    name: str,
    options: Options,
    sizes: tuple[int, int],
    cases: list[tuple[int, int]],
    units: int,
    *,
    spread: bool,
) -> Iterator[Run]:
    """`sizes`: vocabulary and hidden; `cases`: (sessions, context). Each case is run once for nothing first:
    vLLM's sampling is compiled at its first use, and ours is measured warm, too."""
    loop = uvloop.new_event_loop()

    def run(label: str, sessions: int, context: int, count: int) -> list[Told]:
        talking = [
            _Session(llm, Speaker(number, context, *sizes), f"{label}-{context}-{sessions}-{number}")
            for number in range(sessions)
        ]
        return loop.run_until_complete(_run(talking, count, spread))

    with _engine(options, loop) as llm:
        for sessions, context in cases:
            run("warm", sessions, context, LISTENS_EVERY)
            yield Run(name, "bare", sessions, context, run("bare", sessions, context, units))
    loop.close()


async def _run(talking: list[_Session], units: int, spread: bool) -> list[Told]:
    await asyncio.gather(*(session.unit() for session in talking))
    told = await paced(len(talking), units, lambda number: talking[number].unit(), spread=spread)
    for session in talking:
        await session.close()
    return told
