"""MiniCPM-o's configuration as transformers shall know it, without the code that comes with a checkpoint.

To the thinker it is Qwen3's; what belongs to its other parts is kept as it stands.
"""

from __future__ import annotations

from transformers import AutoConfig, Qwen3Config

from antiphon.actors.stages.minicpmo.shapes import MODEL_TYPE


class MiniCpmOConfig(Qwen3Config):
    model_type = MODEL_TYPE


def register() -> None:
    AutoConfig.register(MODEL_TYPE, MiniCpmOConfig, exist_ok=True)
