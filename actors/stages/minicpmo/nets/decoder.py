"""A decoder of the Llama family (Qwen3 with norms of queries and keys) over a KV that sessions have slots in.

Row i of a batch is slot `first + i`: the KV of a batch is then a view, and nothing is gathered. A row that
has nothing to add still writes into its slot, behind all that it may hold, and one that adds less than the
others behind its frontier, where nobody looks before it is written again. So a slot is MARGIN positions
longer than what it may hold.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn.functional import linear, rms_norm, scaled_dot_product_attention, silu

from antiphon.actors.stages.minicpmo import shapes

MARGIN = 512
"""The longest step: so many positions may be written behind a frontier."""


def names(shape: shapes.Decoder, *, qk_norm: bool) -> dict[str, tuple[int, ...]]:
    """Every weight with its shape, as transformers calls them in Qwen3Model and LlamaModel."""
    hidden, dim = shape.hidden_size, shape.head_dim
    queries, keys = shape.num_attention_heads * dim, shape.num_key_value_heads * dim
    found: dict[str, tuple[int, ...]] = {"norm.weight": (hidden,)}
    for layer in range(shape.num_hidden_layers):
        at = f"layers.{layer}."
        found |= {
            at + "input_layernorm.weight": (hidden,),
            at + "self_attn.q_proj.weight": (queries, hidden),
            at + "self_attn.k_proj.weight": (keys, hidden),
            at + "self_attn.v_proj.weight": (keys, hidden),
            at + "self_attn.o_proj.weight": (hidden, queries),
            at + "post_attention_layernorm.weight": (hidden,),
            at + "mlp.gate_proj.weight": (shape.intermediate_size, hidden),
            at + "mlp.up_proj.weight": (shape.intermediate_size, hidden),
            at + "mlp.down_proj.weight": (hidden, shape.intermediate_size),
        }
        if qk_norm:
            found |= {at + "self_attn.q_norm.weight": (dim,), at + "self_attn.k_norm.weight": (dim,)}
    return found


class _Layer:
    def __init__(self, weights: Mapping[str, Tensor], at: str, qk_norm: bool) -> None:
        self.norm_in = weights[at + "input_layernorm.weight"]
        self.norm_out = weights[at + "post_attention_layernorm.weight"]
        self.qkv = torch.cat([weights[f"{at}self_attn.{name}_proj.weight"] for name in "qkv"])
        self.out = weights[at + "self_attn.o_proj.weight"]
        self.gate_up = torch.cat([weights[f"{at}mlp.{name}_proj.weight"] for name in ("gate", "up")])
        self.down = weights[at + "mlp.down_proj.weight"]
        self.norm_q = weights[at + "self_attn.q_norm.weight"] if qk_norm else None
        self.norm_k = weights[at + "self_attn.k_norm.weight"] if qk_norm else None


class Decoder:
    """`slots` sessions of `length` positions each."""

    def __init__(
        self, shape: shapes.Decoder, weights: Mapping[str, Tensor], *, qk_norm: bool, slots: int, length: int
    ) -> None:
        self.shape, self.slots, self.length = shape, slots, length
        self._norm = weights["norm.weight"]
        self.device, self.dtype = self._norm.device, self._norm.dtype
        count = shape.num_hidden_layers
        self._layers = [_Layer(weights, f"layers.{layer}.", qk_norm) for layer in range(count)]
        held = (count, slots, shape.num_key_value_heads, length + MARGIN, shape.head_dim)
        self._keys = torch.zeros(held, device=self.device, dtype=self.dtype)
        self._values = torch.zeros(held, device=self.device, dtype=self.dtype)
        exponents = torch.arange(0, shape.head_dim, 2, device=self.device).float() / shape.head_dim
        self._frequencies = 1.0 / shape.rope_theta**exponents

    def forward(self, given: Tensor, start: Tensor, *, first: int, span: int) -> Tensor:
        """Add `given` [rows, positions, hidden] behind the frontiers `start` [rows] of slots from `first`.

        `span`: no frontier is behind it afterwards. Returns the states behind the final norm, of the same
        shape.
        """
        rows, steps = given.shape[:2]
        places = start[:, None] + torch.arange(steps, device=self.device)
        angles = places[:, :, None].float() * self._frequencies
        turned = torch.cat((angles, angles), dim=-1)[:, None]
        rotation = (turned.cos().to(self.dtype), turned.sin().to(self.dtype))
        groups = self.shape.num_attention_heads // self.shape.num_key_value_heads
        seen = torch.arange(span, device=self.device) <= places[:, :, None]
        seen = seen[:, None].expand(rows, groups, steps, span).reshape(rows, 1, groups * steps, span)
        state = given
        for number, layer in enumerate(self._layers):
            keys = self._keys[number, first : first + rows]
            values = self._values[number, first : first + rows]
            normed = self._normed(state, layer.norm_in)
            state = state + self._attend(layer, normed, rotation, places, seen, keys, values, span)
            gate, up = linear(self._normed(state, layer.norm_out), layer.gate_up).chunk(2, dim=-1)
            state = state + linear(silu(gate) * up, layer.down)
        return self._normed(state, self._norm)

    def _attend(
        self,
        layer: _Layer,
        normed: Tensor,
        rotation: tuple[Tensor, Tensor],
        places: Tensor,
        seen: Tensor,
        keys: Tensor,
        values: Tensor,
        span: int,
    ) -> Tensor:
        rows, steps = normed.shape[:2]
        dim, shared = self.shape.head_dim, self.shape.num_key_value_heads
        split = linear(normed, layer.qkv).view(rows, steps, -1, dim).transpose(1, 2)
        query, key, value = split.split((self.shape.num_attention_heads, shared, shared), dim=1)
        if layer.norm_q is not None and layer.norm_k is not None:
            query, key = self._normed(query, layer.norm_q), self._normed(key, layer.norm_k)
        query, key = _rotated(query, *rotation), _rotated(key, *rotation)
        there = places[:, None, :, None].expand(rows, shared, steps, dim)
        keys.scatter_(2, there, key)
        values.scatter_(2, there, value)
        # The heads that share a key stand side by side as further queries: no key is repeated.
        grouped = query.reshape(rows, shared, -1, dim)
        attended = scaled_dot_product_attention(
            grouped, keys[:, :, :span], values[:, :, :span], attn_mask=seen
        )
        heads = attended.reshape(rows, -1, steps, dim).transpose(1, 2).reshape(rows, steps, -1)
        return linear(heads, layer.out)

    def _normed(self, state: Tensor, weight: Tensor) -> Tensor:
        """In float32 inside, whatever comes and goes."""
        normed: Tensor = rms_norm(state, state.shape[-1:], weight, self.shape.rms_norm_eps)
        return normed


def _rotated(heads: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    one, other = heads.chunk(2, dim=-1)
    return heads * cosine + torch.cat((-other, one), dim=-1) * sine
