"""The thinker in plain torch, of random weights."""

from __future__ import annotations

from collections.abc import Callable

import torch

from antiphon.actors.stages.minicpmo.nets import decoder
from antiphon.actors.stages.minicpmo.nets.steps import Steps
from antiphon.actors.stages.minicpmo.nets.weights import random
from antiphon.actors.stages.minicpmo.shapes import Decoder
from antiphon.actors.stages.minicpmo.thinker import Facts, Thinker
from antiphon.actors.stages.minicpmo.torch_thinker import TorchThinker
from bench.thinker.models import SHAPES


def start(size: str, sessions: int, context_tokens: int, progress: Callable[[str], None]) -> Thinker:
    shape = Decoder(**SHAPES[size])  # type: ignore[arg-type]
    facts = Facts(
        name=f"torch {size}",
        max_sessions=sessions,
        context_tokens=context_tokens,
        kv_tokens=sessions * context_tokens,
        hidden=shape.hidden_size,
        vocabulary=shape.vocab_size,
        can_truncate=True,
        gives_hidden=True,
    )
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    table = (shape.vocab_size, shape.hidden_size)
    wanted = {**decoder.names(shape, qk_norm=True), "table": table, "head": table}
    found = random(wanted, device, dtype, std=shape.initializer_range, seed=0)
    made = decoder.Decoder(shape, found, qk_norm=True, slots=sessions, length=context_tokens)
    characters = [0] * shape.vocab_size
    return TorchThinker(Steps(made, found["table"], found["head"]), facts, characters, progress)
