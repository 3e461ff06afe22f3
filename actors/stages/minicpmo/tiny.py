"""A model that is small enough for tests, made offline: the names and files of a checkpoint, and noise in it.

What it says is letters in no order. They are likelier than other bytes, and listening is likelier than
chance, so that a conversation with it is one.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from .nets import audio, decoder, talker, vision
from .nets.weights import Weights, random
from .shapes import Shape, named
from .specials import NAMES

LETTERS = "abcdefghijklmnopqrstuvwxyz"
UNLIKELY = 0.05
LISTENS = 2.5
"""How long the row of <|listen|> is, of the others' length."""
_CPU = torch.device("cpu")


def make_tiny(folder: Path, seed: int = 0) -> Shape:
    """Write it. `folder` is made; files that are there are written over."""
    folder.mkdir(parents=True, exist_ok=True)
    shape = named("tiny")
    tokenizer = _tokenizer()
    (folder / "config.json").write_bytes(msgspec.json.format(msgspec.json.encode(shape)))
    tokenizer.save(str(folder / "tokenizer.json"))
    told = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": shape.max_position_embeddings}
    (folder / "tokenizer_config.json").write_text(json.dumps(told, indent=2) + "\n")
    weights = _weights(shape, seed)
    _make_likely(weights["llm.lm_head.weight"], tokenizer)
    save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})
    return shape


def _tokenizer() -> Tokenizer:
    letters = sorted(ByteLevel.alphabet())
    tokenizer = Tokenizer(BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = ByteLevelDecoder()
    tokenizer.add_special_tokens(
        [AddedToken(name, special=True, normalized=False) for name in NAMES.values()]
    )
    return tokenizer


def _weights(shape: Shape, seed: int) -> Weights:
    size = (shape.vocab_size, shape.hidden_size)
    wanted: dict[str, tuple[int, ...]] = {"llm.lm_head.weight": size, "llm.model.embed_tokens.weight": size}
    for prefix, part in (
        ("llm.model.", decoder.names(shape, qk_norm=True)),
        ("apm.", audio.names(shape)),
        ("audio_projection_layer.", audio.projection_names(shape)),
        ("vpm.", vision.names(shape)),
        ("resampler.", vision.resampler_names(shape)),
        ("tts.", talker.names(shape.tts_config)),
    ):
        wanted |= {prefix + name: one for name, one in part.items()}
    return random(wanted, _CPU, torch.float32, std=shape.initializer_range, seed=seed)


def _make_likely(head: torch.Tensor, tokenizer: Tokenizer) -> None:
    likely = {tokenizer.token_to_id(letter) for letter in (*LETTERS, "Ġ", *NAMES.values())}
    for number in range(len(head)):
        if number not in likely:
            head[number] *= UNLIKELY
    head[tokenizer.token_to_id(NAMES["listen"])] *= LISTENS
