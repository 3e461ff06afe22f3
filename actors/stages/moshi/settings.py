"""`[stage.moshi]`, and what it makes: a stepper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from antiphon.actors.stages.contract import EngineRefused

from .echo_stepper import EchoStepper
from .stepper import FrameStepper

MOST_SLOTS = 256
HOW_TO_INSTALL = (
    "the moshi package is not installed: `make moshi`, or pip install torch einops safetensors sentencepiece "
    "huggingface_hub, then pip install --no-deps moshi==0.2.13 (it asks for older releases than it needs)"
)


class MoshiSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`size` `echo` is no model at all; of the others either `weights` are named (a folder or a hub id), or
    `random_weights` wanted."""

    size: Literal["echo", "nano", "moshi", "personaplex"] = "personaplex"
    weights: str = ""
    random_weights: bool = False
    batch_size: int = 1


def read(settings: dict[str, Any]) -> MoshiSettings:
    """Raises EngineRefused."""
    try:
        chosen = msgspec.convert(settings, MoshiSettings)
    except msgspec.ValidationError as error:
        raise EngineRefused("bad_settings", f"[stage.moshi] {error}") from error
    if not 1 <= chosen.batch_size <= MOST_SLOTS:
        raise EngineRefused("bad_settings", f"[stage.moshi] batch_size is 1 to {MOST_SLOTS}")
    if chosen.size != "echo" and bool(chosen.weights) == chosen.random_weights:
        told = (
            "[stage.moshi] say where the weights are (--weights, a folder or a hub id), or --random-weights"
        )
        raise EngineRefused("bad_settings", told)
    if chosen.weights and chosen.size == "nano":
        raise EngineRefused("bad_settings", "[stage.moshi] of the size nano there are random weights only")
    return chosen


def stepper(chosen: MoshiSettings, progress: Callable[[str], None]) -> FrameStepper:
    """With its models loaded and warm. Raises EngineRefused."""
    if chosen.size == "echo":
        return EchoStepper(chosen.batch_size)
    try:
        from .model_stepper import ModelStepper
        from .models import load_models, random_models
    except ModuleNotFoundError as missing:
        raise EngineRefused("not_installed", f"{HOW_TO_INSTALL} ({missing})") from missing
    if chosen.weights:
        models = load_models(chosen.weights, chosen.size, progress)
    else:
        progress(f"making random weights of {chosen.size}: what it says will be noise")
        models = random_models(chosen.size)
    progress(f"warming up {chosen.batch_size} slots")
    return ModelStepper(models, chosen.batch_size)
