"""Hearing: Whisper's encoder over a stream, and the projection into the language model's space.

A second of sound is 100 mel frames, 50 positions of the encoder, which also see all earlier ones (their keys
and values are kept), and 10 embeddings. The encoder has positions for 30 s; then it begins anew, and what
was embedded before stands in the language model's context.

Source of shapes and names: vllm_omni 0.30 (apm.*, audio_projection_layer.*). There the window slides by 10 s
instead; with a released checkpoint that was not compared.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import (
    avg_pool1d,
    conv1d,
    gelu,
    layer_norm,
    linear,
    relu,
    scaled_dot_product_attention,
)

from antiphon.actors.stages.minicpmo import shapes
from antiphon.actors.stages.minicpmo.thinker import Embeddings

from .mel import RATE, TAIL, Mel

POSITIONS = shapes.ENCODED
"""Of the encoder, for a second."""
_BEHIND = 2
"""Mel frames that the convolutions look back on."""


class Hearing:
    """What is kept of one stream."""

    def __init__(self) -> None:
        self.sound = torch.zeros(TAIL)
        self.frames: Tensor | None = None
        self.kept: list[tuple[Tensor, Tensor]] = []
        self.position = 0


def names(shape: shapes.Shape) -> dict[str, tuple[int, ...]]:
    """Of the encoder's weights below `apm.`, as in transformers' WhisperEncoder."""
    audio, wide = shape.audio_config, shape.audio_config.d_model
    found: dict[str, tuple[int, ...]] = {
        "conv1.weight": (wide, audio.num_mel_bins, 3),
        "conv1.bias": (wide,),
        "conv2.weight": (wide, wide, 3),
        "conv2.bias": (wide,),
        "embed_positions.weight": (audio.max_source_positions, wide),
        "layer_norm.weight": (wide,),
        "layer_norm.bias": (wide,),
    }
    for layer in range(audio.encoder_layers):
        at = f"layers.{layer}."
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            found[f"{at}self_attn.{part}.weight"] = (wide, wide)
            if part != "k_proj":
                found[f"{at}self_attn.{part}.bias"] = (wide,)
        for part in ("self_attn_layer_norm", "final_layer_norm"):
            found |= {f"{at}{part}.weight": (wide,), f"{at}{part}.bias": (wide,)}
        inner = audio.encoder_ffn_dim
        found |= {f"{at}fc1.weight": (inner, wide), f"{at}fc1.bias": (inner,)}
        found |= {f"{at}fc2.weight": (wide, inner), f"{at}fc2.bias": (wide,)}
    return found


def projection_names(shape: shapes.Shape) -> dict[str, tuple[int, ...]]:
    """Below `audio_projection_layer.`."""
    wide, hidden = shape.audio_config.d_model, shape.hidden_size
    return {
        "linear1.weight": (hidden, wide),
        "linear1.bias": (hidden,),
        "linear2.weight": (hidden, hidden),
        "linear2.bias": (hidden,),
    }


class Ears:
    """Used by one thread."""

    def __init__(
        self, shape: shapes.Shape, encoder: Mapping[str, Tensor], projection: Mapping[str, Tensor]
    ) -> None:
        self._shape, self._w, self._projection = shape, encoder, projection
        self._audio = shape.audio_config
        self._device, self._dtype = encoder["conv1.weight"].device, encoder["conv1.weight"].dtype
        self._mel = Mel(self._audio.num_mel_bins, self._device)

    def hear(self, hearing: Hearing, second: NDArray[np.float32]) -> Embeddings:
        """One second of mono float32 at 16 kHz, shape (16000,), to embeddings (10, hidden)."""
        if second.shape != (RATE,):
            raise ValueError(f"{second.shape} samples, a second has {RATE}")
        with torch.no_grad():
            projected = self._project(self._encode(hearing, self._convolved(hearing, second)))
        embedded: Embeddings = projected.float().cpu().numpy()
        return embedded

    def _convolved(self, hearing: Hearing, second: NDArray[np.float32]) -> Tensor:
        sound = torch.cat((hearing.sound, torch.from_numpy(second)))
        hearing.sound = sound[-TAIL:]
        new = self._mel.frames(sound.to(self._device)).to(self._dtype)
        before, hearing.frames = hearing.frames, new[:, -_BEHIND:]
        frames = (new if before is None else torch.cat((before, new), dim=1))[None]
        first = gelu(conv1d(frames, self._w["conv1.weight"], self._w["conv1.bias"], padding=1))
        both = gelu(conv1d(first, self._w["conv2.weight"], self._w["conv2.bias"], stride=2, padding=1))
        return both[0, :, 0 if before is None else 1 :].T  # what is of the frames before was said then

    def _encode(self, hearing: Hearing, state: Tensor) -> Tensor:
        if hearing.position + POSITIONS > self._audio.max_source_positions:
            hearing.position, hearing.kept = 0, []
        places = slice(hearing.position, hearing.position + POSITIONS)
        state = state + self._w["embed_positions.weight"][places]
        kept: list[tuple[Tensor, Tensor]] = []
        for layer in range(self._audio.encoder_layers):
            at = f"layers.{layer}."
            before = hearing.kept[layer] if hearing.kept else None
            attended, both = self._attend(at, self._normed(state, at + "self_attn_layer_norm"), before)
            kept.append(both)
            state = state + attended
            inner = gelu(self._linear(self._normed(state, at + "final_layer_norm"), at + "fc1"))
            state = state + self._linear(inner, at + "fc2")
        hearing.kept, hearing.position = kept, hearing.position + POSITIONS
        return self._normed(state, "layer_norm")

    def _attend(
        self, at: str, normed: Tensor, before: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        heads = self._audio.encoder_attention_heads
        query, key, value = (
            self._linear(normed, f"{at}self_attn.{part}_proj").view(len(normed), heads, -1).transpose(0, 1)
            for part in "qkv"
        )
        if before is not None:
            key, value = torch.cat((before[0], key), dim=1), torch.cat((before[1], value), dim=1)
        attended = scaled_dot_product_attention(query[None], key[None], value[None])[0]
        joined = attended.transpose(0, 1).reshape(len(normed), -1)
        return self._linear(joined, at + "self_attn.out_proj"), (key, value)

    def _project(self, state: Tensor) -> Tensor:
        one, two = (
            (self._projection[f"linear{number}.weight"], self._projection[f"linear{number}.bias"])
            for number in (1, 2)
        )
        projected = linear(relu(linear(state, *one)), *two)
        return avg_pool1d(projected.T[None], self._shape.audio_pool_step)[0].T

    def _linear(self, state: Tensor, name: str) -> Tensor:
        return linear(state, self._w[name + ".weight"], self._w.get(name + ".bias"))

    def _normed(self, state: Tensor, name: str) -> Tensor:
        return layer_norm(state, state.shape[-1:], self._w[name + ".weight"], self._w[name + ".bias"])
