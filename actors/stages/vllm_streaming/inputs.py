"""An append as vLLM takes it: token ids, with a placeholder wherever an embedding stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct

from antiphon.actors.stages.minicpmo.thinker import Append, Embeddings

MODALITY = "embeddings"
FIELD = "embedding"
MOST_POSITIONS = 64
"""Of one item. vLLM keeps room for one item more than its step has, so longer pieces come in several."""
PLACEHOLDER = 0
"""Any id of the vocabulary; what it embeds to is overwritten."""


class Laid(Struct, frozen=True):
    """Token ids with placeholders, and where which embeddings stand: (offset, embeddings)."""

    ids: list[int]
    embeddings: list[tuple[int, Embeddings]]


def lay(append: Append) -> Laid:
    ids: list[int] = []
    embeddings = []
    for piece in append.pieces:
        if isinstance(piece, tuple):
            ids.extend(piece)
            continue
        for part in _parts(piece):
            embeddings.append((len(ids), part))
            ids.extend([PLACEHOLDER] * len(part))
    return Laid(ids, embeddings)


def _parts(piece: Embeddings) -> Iterator[Embeddings]:
    for start in range(0, len(piece), MOST_POSITIONS):
        yield piece[start : start + MOST_POSITIONS]


def engine_input(laid: Laid, name: str, dtype: Any) -> Any:
    """vLLM's EngineInput. `name` is another for each append of all: vLLM takes what has the same name for the
    same. `dtype` is the model's (a torch.dtype)."""
    from vllm.inputs.engine import mm_input, tokens_input

    if not laid.embeddings:
        return tokens_input(laid.ids)
    import torch
    from vllm.multimodal.inputs import (
        MultiModalBatchedField,
        MultiModalFieldElem,
        MultiModalKwargsItem,
        PlaceholderRange,
    )

    items, names, places = [], [], []
    for number, (offset, part) in enumerate(laid.embeddings):
        tensor = torch.from_numpy(np.ascontiguousarray(part)).to(dtype)
        items.append(
            MultiModalKwargsItem({FIELD: MultiModalFieldElem(data=tensor, field=MultiModalBatchedField())})
        )
        names.append(f"{name}.{number}")
        places.append(PlaceholderRange(offset=offset, length=len(part)))
    return mm_input(laid.ids, {MODALITY: items}, {MODALITY: names}, {MODALITY: places})
