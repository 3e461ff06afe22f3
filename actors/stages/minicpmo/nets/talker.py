"""What the talker is given for the words of a unit, and its weights.

A word is its own embedding plus the thinker's state behind it, projected and normed. Behind the words stand
the end of the text, where the turn ends, and the beginning of sound; then the codec's tokens follow
(voicing.py), by the same machine that runs the language model.

Source of shapes and names: vllm_omni 0.30 (tts.*).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn.functional import embedding, linear, normalize, relu

from antiphon.actors.stages.minicpmo import shapes
from antiphon.actors.stages.minicpmo.handing import Words
from antiphon.actors.stages.minicpmo.thinker import Embeddings

from . import decoder

TABLE, HEAD = "emb_code.0.weight", "head_code.0.parametrizations.weight."
DECODER = "model."


def names(shape: shapes.Talker) -> dict[str, tuple[int, ...]]:
    """Below `tts.`. The head is stored as lengths and directions (weight normalisation)."""
    hidden, codes = shape.hidden_size, shape.num_audio_tokens
    found: dict[str, tuple[int, ...]] = {
        "emb_text.weight": (shape.num_text_tokens, hidden),
        TABLE: (codes, hidden),
        HEAD + "original0": (codes, 1),
        HEAD + "original1": (codes, hidden),
        "projector_semantic.linear1.weight": (hidden, shape.llm_dim),
        "projector_semantic.linear1.bias": (hidden,),
        "projector_semantic.linear2.weight": (hidden, hidden),
        "projector_semantic.linear2.bias": (hidden,),
    }
    inner = decoder.names(shape.decoder, qk_norm=False)
    return found | {DECODER + name: one for name, one in inner.items()}


def head(weights: Mapping[str, Tensor]) -> Tensor:
    lengths, directions = weights[HEAD + "original0"], weights[HEAD + "original1"]
    return lengths * directions / directions.norm(dim=1, keepdim=True)


class Conditions:
    """Makes what the talker is given. Used by one thread."""

    def __init__(self, shape: shapes.Talker, weights: Mapping[str, Tensor]) -> None:
        self._shape, self._w = shape, weights
        self._device = weights["emb_text.weight"].device
        self._dtype = weights["emb_text.weight"].dtype

    def of(self, words: Words, *, last: bool) -> Embeddings:
        """Shape (words + 1, hidden), one more where it is the `last` of a turn."""
        with torch.no_grad():
            given = self._texts((*words.tokens, *((self._shape.text_eos_token_id,) if last else ())))
            if words.states is not None and len(words.tokens):
                states = torch.from_numpy(words.states).to(self._device, self._dtype)
                given[: len(states)] += normalize(self._projected(states), dim=-1)
            begins = self._texts((self._shape.audio_bos_token_id,))
            whole: Embeddings = torch.cat((given, begins)).float().cpu().numpy()
        return whole

    def _texts(self, tokens: tuple[int, ...]) -> Tensor:
        numbers = torch.tensor(tokens, dtype=torch.long, device=self._device)
        return embedding(numbers, self._w["emb_text.weight"])

    def _projected(self, states: Tensor) -> Tensor:
        one, two = (
            (
                self._w[f"projector_semantic.linear{part}.weight"],
                self._w[f"projector_semantic.linear{part}.bias"],
            )
            for part in (1, 2)
        )
        return linear(relu(linear(states, *one)), *two)
