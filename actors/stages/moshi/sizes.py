"""The shapes of the models that this stage knows, in the words of the `moshi` package (LMModel, MimiModel).

`moshi` is kyutai's Moshi 7B; `personaplex` is the same with a depth transformer that also predicts the user's
codebooks; `nano` has random weights only, and a CPU steps it in less than a frame.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from msgspec import Struct

Size = Literal["nano", "moshi", "personaplex"]
SIZES: tuple[Size, ...] = get_args(Size)

AGENT_CODEBOOKS = USER_CODEBOOKS = 8
DELAYS = [0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1]
"""Text, the agent's codebooks, the user's: the acoustic ones are a frame behind the semantic one."""


class Shape(Struct, frozen=True):
    """`mimi` None: as it was released."""

    lm: dict[str, Any]
    mimi: dict[str, Any] | None


def shape_of(size: Size) -> Shape:
    if size == "nano":
        return _nano()
    dep_q = AGENT_CODEBOOKS if size == "moshi" else AGENT_CODEBOOKS + USER_CODEBOOKS
    lm = _lm(4096, layers=32, heads=32, card=2048, text_card=32000, context=3000, dep_q=dep_q)
    lm |= _depth(1024, layers=6, heads=16, feedforward=4224, context=dep_q)
    return Shape(lm, None)


def _nano() -> Shape:
    lm = _lm(32, layers=1, heads=2, card=256, text_card=256, context=250, dep_q=AGENT_CODEBOOKS)
    lm |= _depth(16, layers=1, heads=2, feedforward=64, context=AGENT_CODEBOOKS)
    seanet = {
        "channels": 1,
        "dimension": 32,
        "causal": True,
        "n_filters": 4,
        "n_residual_layers": 1,
        "activation": "ELU",
        "compress": 2,
        "dilation_base": 2,
        "disable_norm_outer_blocks": 0,
        "kernel_size": 7,
        "residual_kernel_size": 3,
        "last_kernel_size": 3,
        "norm": "none",
        "pad_mode": "constant",
        "ratios": [8, 6, 5, 4],
        "true_skip": True,
    }
    quantizer = {"dimension": 16, "n_q": 8, "bins": 256, "input_dimension": 32, "output_dimension": 32}
    transformer = {
        "d_model": 32,
        "num_heads": 2,
        "num_layers": 1,
        "causal": True,
        "layer_scale": 0.01,
        "context": 250,
        "conv_layout": True,
        "max_period": 10000,
        "gating": "none",
        "norm": "layer_norm",
        "positional_embedding": "rope",
        "dim_feedforward": 64,
        "input_dimension": 32,
        "output_dimensions": [32],
    }
    mimi = {"sample_rate": 24000, "channels": 1, "frame_rate": 12.5}
    return Shape(lm, {**mimi, "seanet": seanet, "quantizer": quantizer, "transformer": transformer})


def _lm(
    dim: int, *, layers: int, heads: int, card: int, text_card: int, context: int, dep_q: int
) -> dict[str, Any]:
    return {
        "dim": dim,
        "num_layers": layers,
        "num_heads": heads,
        "card": card,
        "text_card": text_card,
        "context": context,
        "n_q": AGENT_CODEBOOKS + USER_CODEBOOKS,
        "dep_q": dep_q,
        "existing_text_padding_id": 3,
        "hidden_scale": 4.125,
        "causal": True,
        "layer_scale": None,
        "max_period": 10000,
        "gating": "silu",
        "norm": "rms_norm_f32",
        "positional_embedding": "rope",
        "delays": DELAYS,
    }


def _depth(dim: int, *, layers: int, heads: int, feedforward: int, context: int) -> dict[str, Any]:
    return {
        "depformer_dim": dim,
        "depformer_num_layers": layers,
        "depformer_num_heads": heads,
        "depformer_dim_feedforward": feedforward,
        "depformer_context": context,
        "depformer_layer_scale": None,
        "depformer_multi_linear": True,
        "depformer_max_period": 10000,
        "depformer_gating": "silu",
        "depformer_pos_emb": "none",
        "depformer_weights_per_step": True,
    }
