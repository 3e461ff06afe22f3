"""Weights by the names that a released checkpoint has: llm.*, apm.*, audio_projection_layer.*, tts.*."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor

from antiphon.actors.stages.contract import EngineRefused

Weights = dict[str, Tensor]


def load(folder: Path, prefix: str, device: torch.device, dtype: torch.dtype) -> Weights:
    """Those whose name begins with `prefix`, without it. Raises EngineRefused where there are none."""
    from safetensors import safe_open

    found: Weights = {}
    for path, names in _files(folder, prefix):
        with safe_open(path, framework="pt", device="cpu") as opened:
            for name in names:
                found[name.removeprefix(prefix)] = opened.get_tensor(name).to(device=device, dtype=dtype)
    if not found:
        raise EngineRefused("bad_model", f"{folder} holds no weights {prefix}*")
    return found


def _files(folder: Path, prefix: str) -> Iterator[tuple[Path, list[str]]]:
    """Each file with the names in it that are wanted."""
    from safetensors import safe_open

    index = folder / "model.safetensors.index.json"
    if index.exists():
        wanted: dict[str, list[str]] = {}
        for name, file in json.loads(index.read_text())["weight_map"].items():
            if name.startswith(prefix):
                wanted.setdefault(file, []).append(name)
        for file, names in wanted.items():
            yield folder / file, names
        return
    path = folder / "model.safetensors"
    if not path.exists():
        raise EngineRefused("bad_model", f"{folder} holds no model.safetensors")
    with safe_open(path, framework="pt") as opened:
        names = opened.keys()
    yield path, [name for name in names if name.startswith(prefix)]


def has(folder: Path, prefix: str) -> bool:
    """Whether a checkpoint has this part."""
    return any(names for _, names in _files(folder, prefix))


def random(
    shapes: Mapping[str, tuple[int, ...]], device: torch.device, dtype: torch.dtype, *, std: float, seed: int
) -> Weights:
    """Normal noise, ones for norms and zeros for biases, made where it is used."""
    generator = torch.Generator(device).manual_seed(seed)
    made: Weights = {}
    for name, shape in shapes.items():
        if "norm" in name and name.endswith("weight"):
            made[name] = torch.ones(shape, device=device, dtype=dtype)
        elif name.endswith("bias"):
            made[name] = torch.zeros(shape, device=device, dtype=dtype)
        else:
            empty = torch.empty(shape, device=device, dtype=dtype)
            made[name] = empty.normal_(0.0, std, generator=generator)
    return made
