"""The models in memory: of random weights, or read from a folder or from the hub.

The moshi package is met here and in lockstep.py, in the stage's own process only.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from msgspec import Struct

from antiphon.actors.stages.contract import EngineRefused

from .package import LMModel, loaders
from .sizes import AGENT_CODEBOOKS, Size, shape_of
from .words import Letters, SentencePieces, Words

RANDOM_SEED = 0
"""Random weights are always the same ones."""
ENCODED_LOUDER = 50.0
VOICES = "voices"
"""The folder of voices beside the weights: NAME.pt."""


class Models(Struct):
    """`lm` is an LMModel and `mimi` a MimiModel of the moshi package, both on `device`. Without `voices` any
    may be asked for: of random weights one sounds like the other."""

    lm: Any
    mimi: Any
    words: Words
    voices: dict[str, Path] | None
    device: torch.device
    takes_persona: bool


def device() -> torch.device:
    """CUDA_VISIBLE_DEVICES says which."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _dtype(where: torch.device) -> torch.dtype:
    return torch.bfloat16 if where.type == "cuda" else torch.float32


def random_models(size: Size) -> Models:
    """Always the same weights; what such a model says is noise."""
    where, shape = device(), shape_of(size)
    torch.manual_seed(RANDOM_SEED)
    if where.type == "cpu":
        torch.set_num_threads(1)
    lm = LMModel(device=where, dtype=_dtype(where), **shape.lm).eval()
    mimi = loaders.get_mimi(None, shape.mimi, device=where, num_codebooks=AGENT_CODEBOOKS)
    _fill_codebooks(mimi)
    words = Letters(shape.lm["text_card"])
    return Models(lm, mimi, words, None, where, takes_persona=size != "moshi")


def _fill_codebooks(mimi: Any) -> None:
    """They are zero after construction: all codes would sound the same. And what a random encoder says is so
    small beside them that all sounds would have the same codes."""
    for name, codebook in mimi.named_buffers():
        if name.endswith("embedding_sum"):
            codebook.normal_()
    for name, weights in mimi.quantizer.named_parameters():
        if name.endswith("input_proj.weight"):
            weights.data *= ENCODED_LOUDER


def load_models(weights: str, size: Size, progress: Callable[[str], None]) -> Models:
    """`weights` is a folder, or a hub id such as kyutai/moshiko-pytorch-bf16 (HF_TOKEN opens gated ones).

    Raises EngineRefused, naming what is missing.
    """
    where, shape = device(), shape_of(size)
    if where.type == "cpu":
        raise EngineRefused(
            "no_gpu", f"{size} with weights needs a CUDA device; see --random-weights --size nano"
        )
    folder = Path(weights)
    get = _from_folder(folder) if folder.is_dir() else _from_hub(weights, progress)
    lm_file, mimi_file, words_file = (
        get(name) for name in (loaders.MOSHI_NAME, loaders.MIMI_NAME, loaders.TEXT_TOKENIZER_NAME)
    )
    progress(f"reading {lm_file}")
    try:
        lm = loaders.get_moshi_lm(lm_file, shape.lm, device=where, dtype=_dtype(where))
        mimi = loaders.get_mimi(mimi_file, device=where, num_codebooks=AGENT_CODEBOOKS)
        words = SentencePieces(words_file)
    except (RuntimeError, OSError, ValueError) as problem:
        raise EngineRefused("bad_weights", f"{weights} is no {size}: {problem}") from problem
    voices = {path.stem: path for path in sorted((lm_file.parent / VOICES).glob("*.pt"))}
    return Models(lm, mimi, words, voices, where, takes_persona=size != "moshi")


def _from_folder(folder: Path) -> Callable[[str], Path]:
    def get(name: str) -> Path:
        path = folder / name
        if not path.is_file():
            raise EngineRefused("weights_missing", f"there is no {name} in {folder}")
        return path

    return get


def _from_hub(repository: str, progress: Callable[[str], None]) -> Callable[[str], Path]:
    from huggingface_hub import hf_hub_download

    def get(name: str) -> Path:
        progress(f"fetching {name} of {repository}")
        try:
            return Path(hf_hub_download(repository, name))
        except Exception as problem:  # the hub's and the network's are many
            told = f"{name} of {repository} cannot be fetched (neither a folder nor reachable): {problem}"
            raise EngineRefused("weights_missing", told) from problem

    return get
