"""Seeing: a SigLIP encoder over the patches of an image of any shape, and a resampler to a fixed number of
positions in the language model's space.

An image is scaled to about SIDE * SIDE pixels, in its own proportions, to whole patches. A patch's position
is where it lies in the grid that the encoder was trained on, as a share of its sides (NaViT's). The
resampler's queries look at all patches once, whose keys carry sines and cosines of their row and column.

Source of shapes and names: vllm_omni 0.30 (vpm.*, resampler.*), and the papers of SigLIP, NaViT and
MiniCPM-V. With a released checkpoint that was not compared.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn.functional import conv2d, gelu, layer_norm, linear, scaled_dot_product_attention

from antiphon.actors.stages.minicpmo import shapes
from antiphon.actors.stages.minicpmo.thinker import Embeddings
from antiphon.media.images import NotAnImage, examine

SIDE = 448
"""Pixels of the square that an image has the area of once it is scaled."""
HEAD_SIZE = 128
"""Of the resampler's attention."""
_EPS = 1e-6


def names(shape: shapes.Shape) -> dict[str, tuple[int, ...]]:
    """Of the encoder's weights below `vpm.`, as in transformers' SigLIP; the last layer is not among them."""
    vision = _vision(shape)
    wide, inner = vision.hidden_size, vision.intermediate_size
    found: dict[str, tuple[int, ...]] = {
        "embeddings.patch_embedding.weight": (wide, 3, vision.patch_size, vision.patch_size),
        "embeddings.patch_embedding.bias": (wide,),
        "embeddings.position_embedding.weight": (vision.grid**2, wide),
        "post_layernorm.weight": (wide,),
        "post_layernorm.bias": (wide,),
    }
    for layer in range(vision.num_hidden_layers - 1):
        at = f"encoder.layers.{layer}."
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            found |= {f"{at}self_attn.{part}.weight": (wide, wide), f"{at}self_attn.{part}.bias": (wide,)}
        for part in ("layer_norm1", "layer_norm2"):
            found |= {f"{at}{part}.weight": (wide,), f"{at}{part}.bias": (wide,)}
        found |= {f"{at}mlp.fc1.weight": (inner, wide), f"{at}mlp.fc1.bias": (inner,)}
        found |= {f"{at}mlp.fc2.weight": (wide, inner), f"{at}mlp.fc2.bias": (wide,)}
    return found


def resampler_names(shape: shapes.Shape) -> dict[str, tuple[int, ...]]:
    """Below `resampler.`."""
    hidden = shape.hidden_size
    found: dict[str, tuple[int, ...]] = {
        "query": (shape.query_num, hidden),
        "kv_proj.weight": (hidden, _vision(shape).hidden_size),
        "attn.in_proj_weight": (3 * hidden, hidden),
        "attn.in_proj_bias": (3 * hidden,),
        "attn.out_proj.weight": (hidden, hidden),
        "attn.out_proj.bias": (hidden,),
        "proj": (hidden, hidden),
    }
    for part in ("ln_q", "ln_kv", "ln_post"):
        found |= {f"{part}.weight": (hidden,), f"{part}.bias": (hidden,)}
    return found


def _vision(shape: shapes.Shape) -> shapes.Vision:
    assert shape.vision_config is not None, "it sees nothing"
    return shape.vision_config


class Eyes:
    """Used by one thread."""

    def __init__(
        self, shape: shapes.Shape, encoder: Mapping[str, Tensor], resampler: Mapping[str, Tensor]
    ) -> None:
        self._vision, self._w, self._resampler = _vision(shape), encoder, resampler
        patches = encoder["embeddings.patch_embedding.weight"]
        self._device, self._dtype = patches.device, patches.dtype

    def see(self, file: bytes) -> Embeddings:
        """An image file, JPEG or PNG, to embeddings (query_num, hidden). Raises BadImage."""
        pixels = scaled(file, self._vision.patch_size)
        with torch.no_grad():
            state, grid = self._encode(pixels.to(self._device, self._dtype))
            seen = self._resample(state, grid)
        embedded: Embeddings = seen.float().cpu().numpy()
        return embedded

    def _encode(self, pixels: Tensor) -> tuple[Tensor, tuple[int, int]]:
        """Pixels [3, height, width] to states [patches, wide], row by row, and how many rows and columns."""
        w, patch = self._w, self._vision.patch_size
        made = conv2d(
            pixels[None],
            w["embeddings.patch_embedding.weight"],
            w["embeddings.patch_embedding.bias"],
            stride=patch,
        )[0]
        grid = (made.shape[1], made.shape[2])
        places = positions(grid, self._vision.grid).to(self._device)
        state = made.flatten(1).T + w["embeddings.position_embedding.weight"][places]
        for layer in range(self._vision.num_hidden_layers - 1):
            at = f"encoder.layers.{layer}."
            state = state + self._attend(at + "self_attn.", self._normed(state, at + "layer_norm1"))
            inner = self._linear(self._normed(state, at + "layer_norm2"), at + "mlp.fc1")
            state = state + self._linear(gelu(inner, approximate="tanh"), at + "mlp.fc2")
        return self._normed(state, "post_layernorm"), grid

    def _attend(self, at: str, normed: Tensor) -> Tensor:
        heads = self._vision.num_attention_heads
        query, key, value = (_split(self._linear(normed, f"{at}{part}_proj"), heads) for part in "qkv")
        return self._linear(_joined(query, key, value), at + "out_proj")

    def _resample(self, state: Tensor, grid: tuple[int, int]) -> Tensor:
        w = self._resampler
        hidden = w["query"].shape[1]
        seen = _named_norm(linear(state, w["kv_proj.weight"]), w, "ln_kv")
        asked = _named_norm(w["query"], w, "ln_q")
        placed = seen + sines(grid, hidden).to(seen)
        weights, biases = w["attn.in_proj_weight"].chunk(3), w["attn.in_proj_bias"].chunk(3)
        query, key, value = (
            _split(linear(one, weight, bias), max(hidden // HEAD_SIZE, 1))
            for one, weight, bias in zip((asked, placed, seen), weights, biases, strict=True)
        )
        out = linear(_joined(query, key, value), w["attn.out_proj.weight"], w["attn.out_proj.bias"])
        return _named_norm(out, w, "ln_post") @ w["proj"]

    def _linear(self, state: Tensor, name: str) -> Tensor:
        return linear(state, self._w[name + ".weight"], self._w[name + ".bias"])

    def _normed(self, state: Tensor, name: str) -> Tensor:
        return _named_norm(state, self._w, name)


def scaled(file: bytes, patch: int) -> Tensor:
    """The pixels [3, height, width] from -1 to 1, in whole patches of `patch` pixels. Raises BadImage."""
    examine(file)
    try:
        with Image.open(io.BytesIO(file), formats=("JPEG", "PNG")) as opened:
            whole = opened.convert("RGB")
    except (OSError, SyntaxError, ValueError) as error:  # only a part of one, for instance
        raise NotAnImage(str(error)) from error
    size = fitted(whole.width, whole.height, patch)
    values = np.asarray(whole.resize(size, Image.Resampling.BICUBIC), np.float32)
    return torch.from_numpy(values / 127.5 - 1.0).permute(2, 0, 1)


def fitted(width: int, height: int, patch: int) -> tuple[int, int]:
    """Width and height of about SIDE * SIDE pixels in these proportions, whole patches each, one at least.

    What is longer than as many pixels in one row of patches is squeezed: attention over a line of any length
    would take all memory there is.
    """
    tall = int(SIDE / math.sqrt(width / height))
    wide = int(tall * width / height)
    most = SIDE * SIDE // patch**2
    return min(max(round(wide / patch), 1), most) * patch, min(max(round(tall / patch), 1), most) * patch


def positions(grid: tuple[int, int], trained: int) -> Tensor:
    """Which of the `trained` * `trained` positions each patch of a grid (rows, columns) has: [patches]."""
    edges = torch.arange(1, trained) / trained
    row, column = (torch.bucketize(torch.arange(count) / count, edges, right=True) for count in grid)
    return (row[:, None] * trained + column[None, :]).flatten()


def sines(grid: tuple[int, int], hidden: int) -> Tensor:
    """[patches, hidden]: one half says the column, the other the row, each as sines, then cosines."""
    rows, columns = grid
    rates = 10_000.0 ** -(torch.arange(hidden // 4) / (hidden // 4))

    def along(count: int) -> Tensor:
        angles = torch.arange(count)[:, None] * rates
        return torch.cat((angles.sin(), angles.cos()), dim=1)

    column = along(columns)[None].expand(rows, -1, -1)
    row = along(rows)[:, None].expand(-1, columns, -1)
    return torch.cat((column, row), dim=2).flatten(0, 1)


def _split(state: Tensor, heads: int) -> Tensor:
    """[n, wide] to [heads, n, wide / heads]."""
    return state.view(len(state), heads, -1).transpose(0, 1)


def _joined(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """What the queries [heads, n, size] find: [n, wide]."""
    attended = scaled_dot_product_attention(query[None], key[None], value[None])[0]
    return attended.transpose(0, 1).flatten(1)


def _named_norm(state: Tensor, weights: Mapping[str, Tensor], name: str) -> Tensor:
    return layer_norm(state, state.shape[-1:], weights[name + ".weight"], weights[name + ".bias"], _EPS)
