"""What of MiniCPM-o is the client's to choose, and what is the operator's.

A client has `instructions`, `voice`, `temperature`, and in the session's `extra_body` the fields of Sampling.
Everything that costs others (budgets, windows, lengths, devices) or that names a file stands in
`[stage.minicpmo]` alone; a client that asks for it is refused.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from antiphon.actors.stages.contract import EngineRefused, PastUnit
from antiphon.actors.stages.vllm_streaming.options import VllmSettings

from .segments import Budget, Sampling
from .window import Window


class MiniCpmOSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[stage.minicpmo]`. `model` is a folder with a checkpoint; `weights` `random` makes noise of its shape.

    `thinker` says what runs the language model; `vllm` counts where that is `vllm`. `vocoder` is a folder
    with Token2Wav; "": there is none, and the stand-in `tone_vocoder` sounds. `voices` is a folder of WAV
    files: a client's `voice` names one. `append_timeout_s`: after which a segment, or the end of a session,
    that does not come means that the engine hangs.
    """

    model: str = ""
    weights: Literal["checkpoint", "random"] = "checkpoint"
    thinker: Literal["torch", "vllm"] = "torch"
    vocoder: str = ""
    voices: str = ""
    device: str = ""
    """"": a GPU if there is one."""
    max_sessions: Annotated[int, Meta(ge=1, le=1024)] = 4
    context_tokens: Annotated[int, Meta(ge=256)] = 8192
    """Of one session; the checkpoint's own limit if that is less."""
    window: Literal["off", "basic", "context"] = "basic"
    window_high: int = 8000
    window_low: int = 6000
    unit_tokens: Annotated[int, Meta(ge=2, le=64)] = 20
    unit_characters: Annotated[int, Meta(ge=1, le=200)] = 28
    append_timeout_s: Annotated[float, Meta(gt=0)] = 20.0
    vllm: VllmSettings = VllmSettings()

    def __post_init__(self) -> None:
        self.kept_window()

    def kept_window(self) -> Window:
        """Raises ValueError where it is none."""
        return Window(policy=self.window, high=self.window_high, low=self.window_low)

    def budget(self) -> Budget:
        return Budget(tokens=self.unit_tokens, characters=self.unit_characters)


class ClientOptions(Struct, frozen=True, kw_only=True):
    """What one session runs by."""

    instructions: str
    voice: str
    sampling: Sampling
    aloud: bool = True
    """Whether there is sound, or words alone."""
    past: tuple[PastUnit, ...] = ()
    """What was heard and said before this stage knew of the session."""


def read_settings(settings: dict[str, Any]) -> MiniCpmOSettings:
    """Raises EngineRefused."""
    try:
        chosen = msgspec.convert(settings, MiniCpmOSettings)
    except (msgspec.ValidationError, ValueError) as error:
        raise EngineRefused("bad_settings", f"[stage.minicpmo] {error}") from error
    if not chosen.model:
        told = (
            "[stage.minicpmo] say where the model is: --model DIR (antiphon models make-tiny DIR makes one)"
        )
        raise EngineRefused("bad_settings", told)
    return chosen


def read_config(config: dict[str, Any]) -> ClientOptions:
    """Raises EngineRefused: `invalid_session_config`."""
    asked = dict(config.get("engine") or {})
    temperature = config.get("temperature")
    if temperature is not None:
        asked.setdefault("temperature", temperature)
    try:
        sampling = msgspec.convert(asked, Sampling)
    except msgspec.ValidationError as error:
        raise EngineRefused("invalid_session_config", f"extra_body: {error}") from error
    return ClientOptions(
        instructions=str(config.get("instructions") or ""),
        voice=str(config.get("voice") or ""),
        sampling=sampling,
        aloud="audio" in (config.get("modalities") or ("audio",)),
        past=msgspec.convert(config.get("past_units", ()), tuple[PastUnit, ...]),
    )
