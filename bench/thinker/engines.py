"""The thinkers that are compared, of random weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from antiphon.actors.stages.minicpmo.thinker import Thinker
from antiphon.actors.stages.vllm_streaming.options import Options
from bench.thinker.clockwork import Clockwork
from bench.thinker.models import SHAPES
from bench.thinker.units import SPOKEN


class Choice(Struct, frozen=True, kw_only=True):
    """`model`: a folder with a config.json. `size`: what that is."""

    thinker: Literal["vllm", "torch", "clockwork"]
    model: str
    size: str
    sessions: int
    context_tokens: int
    measuring: bool = False
    eager: bool = False


def vllm_options(choice: Choice) -> Options:
    tiny = choice.size == "tiny"
    return Options(
        model=choice.model,
        random_weights=True,
        max_sessions=choice.sessions,
        context_tokens=choice.context_tokens,
        most_tokens=SPOKEN,
        dtype="float32" if tiny else "bfloat16",
        gpu_memory=0.85,
        eager=choice.eager,
        measuring=choice.measuring,
    )


def sizes(choice: Choice) -> tuple[int, int]:
    """Vocabulary and hidden."""
    shape = SHAPES[choice.size]
    return shape["vocab_size"], shape["hidden_size"]


def start(choice: Choice, progress: Callable[[str], None]) -> Thinker:
    if choice.thinker == "vllm":
        from antiphon.actors.stages.vllm_streaming.thinker import VllmThinker

        return VllmThinker(vllm_options(choice), progress=progress)
    if choice.thinker == "clockwork":
        return Clockwork(choice.sessions, choice.context_tokens, *sizes(choice))
    from bench.thinker.on_torch import start as start_torch

    return start_torch(choice.size, choice.sessions, choice.context_tokens, progress)
