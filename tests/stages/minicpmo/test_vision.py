"""The eyes beside transformers' encoder for images of any shape, and torch's own attention."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from PIL import Image

from antiphon.actors.stages.minicpmo.shapes import Vision, named
from antiphon.media.images import BadImage, TooManyPixels

pytestmark = pytest.mark.minicpmo
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from antiphon.actors.stages.minicpmo.nets import vision  # noqa: E402  # after importorskip
from antiphon.actors.stages.minicpmo.nets.weights import random  # noqa: E402

VISION = Vision(
    hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=96, image_size=980
)
SHAPE = replace(named("tiny"), hidden_size=256, vision_config=VISION)
CPU = torch.device("cpu")


def noise(wanted: dict[str, tuple[int, ...]], seed: int) -> dict[str, Any]:
    return random(wanted, CPU, torch.float32, std=0.15, seed=seed)


ENCODER, RESAMPLER = noise(vision.names(SHAPE), 1), noise(vision.resampler_names(SHAPE), 2)


@pytest.fixture(scope="module")
def eyes() -> vision.Eyes:
    return vision.Eyes(SHAPE, ENCODER, RESAMPLER)


def file(width: int, height: int, kind: str = "PNG", seed: int = 0) -> bytes:
    values = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(values).save(out, kind)
    return out.getvalue()


@pytest.mark.parametrize(("width", "height"), [(640, 360), (448, 448), (100, 700)])
def test_patches_are_encoded_as_by_transformers_without_its_last_layer(
    eyes: vision.Eyes, width: int, height: int
) -> None:
    from transformers.models.idefics2.configuration_idefics2 import Idefics2VisionConfig
    from transformers.models.idefics2.modeling_idefics2 import Idefics2VisionTransformer

    config = Idefics2VisionConfig(
        hidden_size=VISION.hidden_size,
        num_hidden_layers=VISION.num_hidden_layers - 1,
        num_attention_heads=VISION.num_attention_heads,
        intermediate_size=VISION.intermediate_size,
        image_size=VISION.image_size,
        patch_size=VISION.patch_size,
    )
    theirs = Idefics2VisionTransformer._from_config(config, attn_implementation="eager").eval()
    theirs.load_state_dict(ENCODER)
    pixels = vision.scaled(file(width, height), VISION.patch_size)

    with torch.no_grad():
        ours, grid = eyes._encode(pixels)
        expected = theirs(pixels[None]).last_hidden_state[0]

    assert grid == (pixels.shape[1] // 14, pixels.shape[2] // 14)
    torch.testing.assert_close(ours, expected, atol=1e-4, rtol=1e-4)


def test_queries_look_as_torchs_attention_does(eyes: vision.Eyes) -> None:
    grid, hidden = (3, 5), SHAPE.hidden_size
    state = torch.randn(15, VISION.hidden_size, generator=torch.Generator().manual_seed(3))
    attention = torch.nn.MultiheadAttention(hidden, hidden // vision.HEAD_SIZE).eval()
    prefix = "attn."
    attention.load_state_dict(
        {name.removeprefix(prefix): one for name, one in RESAMPLER.items() if name.startswith(prefix)}
    )

    def norm(name: str, value: Any) -> Any:
        weight, bias = RESAMPLER[f"{name}.weight"], RESAMPLER[f"{name}.bias"]
        return torch.nn.functional.layer_norm(value, (hidden,), weight, bias, 1e-6)

    with torch.no_grad():
        seen = norm("ln_kv", state @ RESAMPLER["kv_proj.weight"].T)
        query = norm("ln_q", RESAMPLER["query"])
        found, _ = attention(query[:, None], (seen + vision.sines(grid, hidden))[:, None], seen[:, None])
        expected = norm("ln_post", found[:, 0]) @ RESAMPLER["proj"]

        torch.testing.assert_close(eyes._resample(state, grid), expected, atol=1e-4, rtol=1e-4)


def test_places_are_told_apart_by_column_and_by_row() -> None:
    """MiniCPM-V's table: the first half of a row is its column's sines and cosines, the second its row's."""
    hidden, quarter = 16, 4
    table = vision.sines((2, 3), hidden)
    rates = [10_000.0 ** (-k / quarter) for k in range(quarter)]
    for row in range(2):
        for column in range(3):
            expected = [
                wave(place * rate) for place in (column, row) for wave in (np.sin, np.cos) for rate in rates
            ]
            np.testing.assert_allclose(table[row * 3 + column].numpy(), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("size", "fitted"),
    [
        ((448, 448), (448, 448)),
        ((1920, 1080), (602, 336)),
        ((100, 100), (448, 448)),
        ((4000, 1), (14_336, 14)),
        ((1, 200_000), (14, 14_336)),
    ],
)
def test_an_image_keeps_its_proportions_in_whole_patches(
    size: tuple[int, int], fitted: tuple[int, int]
) -> None:
    assert vision.fitted(*size, 14) == fitted


def test_an_image_of_any_kind_becomes_as_many_positions(eyes: vision.Eyes) -> None:
    seen = [eyes.see(one) for one in (file(320, 240), file(240, 320, "JPEG"), file(1, 1))]

    assert [one.shape for one in seen] == [(SHAPE.query_num, SHAPE.hidden_size)] * 3
    assert all(np.isfinite(one).all() for one in seen)
    assert not np.allclose(seen[0], seen[1])


def test_what_is_no_whole_image_is_refused(eyes: vision.Eyes) -> None:
    whole = file(320, 240, "JPEG")
    bomb = file(1, 1)[:16] + (30_000).to_bytes(4, "big") * 2 + file(1, 1)[24:]
    with pytest.raises(BadImage):
        eyes.see(whole[: len(whole) // 2])
    with pytest.raises(BadImage):
        eyes.see(b"no image")
    with pytest.raises(TooManyPixels):
        eyes.see(bomb)
