"""vLLM by itself: its own model, its own sampling, one asyncio loop, streaming input."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Iterator
from typing import Any

from antiphon.actors.stages.vllm_streaming.options import Options, engine_arguments, set_environment
from bench.thinker.figures import Run
from bench.thinker.units import LISTEN, SPOKEN, Speaker, Told, paced


class _Session:
    def __init__(self, llm: Any, speaker: Speaker, name: str) -> None:
        self._appends: asyncio.Queue[Any] = asyncio.Queue()
        self._speaker = speaker
        self._outputs = llm.generate(self._inputs(), _params(listens=True), name)

    async def _inputs(self) -> AsyncGenerator[Any, None]:
        while True:
            yield await self._appends.get()

    async def unit(self) -> Told:
        from vllm.engine.protocol import StreamingInput
        from vllm.inputs.engine import tokens_input

        listens = self._speaker.listens
        [ids] = self._speaker.next().pieces
        asked = time.monotonic_ns()
        self._appends.put_nowait(StreamingInput(tokens_input(list(ids)), _params(listens=listens)))
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
    for ours in ("hf_overrides", "logits_processors", "skip_mm_profiling", "additional_config"):
        del arguments[ours]

    async def start() -> Any:
        return AsyncLLM.from_engine_args(AsyncEngineArgs(**arguments))

    llm = loop.run_until_complete(start())
    try:
        yield llm
    finally:
        llm.shutdown()


def measure(
    name: str, options: Options, vocabulary: int, cases: list[tuple[int, int]], units: int, *, spread: bool
) -> Iterator[Run]:
    """`cases`: (sessions, context)."""
    loop = asyncio.new_event_loop()
    with _engine(options, loop) as llm:
        for sessions, context in cases:
            talking = [
                _Session(llm, Speaker(number, context, vocabulary), f"{context}-{sessions}-{number}")
                for number in range(sessions)
            ]

            yield Run(name, "bare", sessions, context, loop.run_until_complete(_run(talking, units, spread)))
    loop.close()


async def _run(talking: list[_Session], units: int, spread: bool) -> list[Told]:
    await asyncio.gather(*(session.unit() for session in talking))
    told = await paced(len(talking), units, lambda number: talking[number].unit(), spread=spread)
    for session in talking:
        await session.close()
    return told
