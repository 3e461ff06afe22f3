"""Qwen3 inside vLLM, read from a MiniCPM-o checkpoint, with embeddings in the place of tokens.

To vLLM it is a multimodal model of one modality whose encoder does nothing: an item is the embeddings
themselves. The streaming encoders (sound, images) stay in the stage's process, with their own state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from vllm.model_executor.models.interfaces import SupportsMultiModal
from vllm.model_executor.models.qwen3 import Qwen3ForCausalLM
from vllm.multimodal import MULTIMODAL_REGISTRY
from vllm.multimodal.processing import BaseDummyInputsBuilder, BaseMultiModalProcessor, BaseProcessingInfo

from .inputs import FIELD, MODALITY, MOST_POSITIONS

THINKER = "llm."
"""What the weights of the language model begin with in a MiniCPM-o checkpoint."""


class _Info(BaseProcessingInfo):
    def get_supported_mm_limits(self) -> Mapping[str, int | None]:
        return {MODALITY: None}

    def get_mm_max_tokens_per_item(self, seq_len: int, mm_counts: Mapping[str, int]) -> Mapping[str, int]:
        return {MODALITY: min(seq_len, MOST_POSITIONS)}


class _NoDummies(BaseDummyInputsBuilder[_Info]):
    """Nothing is measured by them: an encoder that does nothing needs no memory."""

    def get_dummy_text(self, mm_counts: Mapping[str, int]) -> str:
        return ""

    def get_dummy_mm_data(self, seq_len: int, mm_counts: Mapping[str, int], mm_options: Any) -> Any:
        return {}


class _NoProcessing(BaseMultiModalProcessor[_Info]):
    """Appends come as inputs that are made already (inputs.py)."""

    requires_tokenizer = False

    def _get_mm_fields_config(self, *_: Any) -> Any:
        raise NotImplementedError

    def _get_prompt_updates(self, *_: Any) -> Any:
        raise NotImplementedError


class Sampled:
    """The hidden states of the rows whose logits were computed last. Shape (rows, hidden)."""

    states: torch.Tensor


sampled = Sampled()


@MULTIMODAL_REGISTRY.register_processor(_NoProcessing, info=_Info, dummy_inputs=_NoDummies)
class Thinker(Qwen3ForCausalLM, SupportsMultiModal):
    def get_language_model(self) -> torch.nn.Module:
        return self

    def embed_multimodal(self, **fields: object) -> Sequence[torch.Tensor]:
        """An item's embeddings, shape (positions, hidden), as they came."""
        items: Any = fields[FIELD]
        return list(items)

    def embed_input_ids(
        self,
        input_ids: torch.Tensor,
        multimodal_embeddings: Sequence[torch.Tensor] | None = None,
        *,
        is_multimodal: torch.Tensor | None = None,
    ) -> torch.Tensor:
        embedded = super().embed_input_ids(input_ids)
        if multimodal_embeddings and is_multimodal is not None:
            places = is_multimodal.to(embedded.device, non_blocking=True)
            given = torch.cat(list(multimodal_embeddings)).to(embedded)
            embedded = embedded.masked_scatter(places[:, None], given)
        return embedded

    def compute_logits(self, hidden_states: torch.Tensor) -> torch.Tensor | None:
        sampled.states = hidden_states
        return super().compute_logits(hidden_states)

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]]) -> set[str]:
        """Of a MiniCPM-o checkpoint what is the language model's; a plain Qwen3 one is read as it is."""
        loaded: set[str] = super().load_weights(_of_the_thinker(weights))
        return loaded


def _of_the_thinker(weights: Iterable[tuple[str, torch.Tensor]]) -> Iterable[tuple[str, torch.Tensor]]:
    others = ("apm.", "audio_projection_layer.", "vpm.", "resampler.", "tts.")
    for name, tensor in weights:
        if not name.startswith(others):
            yield name.removeprefix(THINKER), tensor
