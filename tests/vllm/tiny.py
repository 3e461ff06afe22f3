"""What a tiny MiniCPM-o checkpoint's language model says by itself, according to transformers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from transformers import Qwen3Config, Qwen3ForCausalLM

from antiphon.actors.stages.vllm_streaming.model import THINKER

EOS, LISTEN, CHUNK_EOS = 300, 301, 302
"""Any three: to the thinker no token is special."""
PROMPT = [5, 17, 200, 33, 8, 91, 140, 66, 12, 250, 77, 3]


class Tiny:
    """In float32."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        config = Qwen3Config(**json.loads((folder / "config.json").read_text()))
        self.vocabulary, self.hidden = config.vocab_size, config.hidden_size
        self.model = Qwen3ForCausalLM(config).float().eval()
        weights = load_file(folder / "model.safetensors")
        own = {name.removeprefix(THINKER): one for name, one in weights.items() if name.startswith(THINKER)}
        self.model.load_state_dict(own)

    def embeddings(self, ids: Sequence[int]) -> np.ndarray:
        """Shape (ids, hidden)."""
        with torch.no_grad():
            return self.model.get_input_embeddings()(torch.tensor(ids)).numpy()

    def forward(self, ids: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Logits, shape (ids, vocabulary), and the last hidden states, shape (ids, hidden)."""
        with torch.no_grad():
            said: Any = self.model.model(torch.tensor([list(ids)]))
            states = said.last_hidden_state[0]
            return self.model.lm_head(states).numpy(), states.numpy()

    def greedy(self, ids: Sequence[int], tokens: int) -> list[int]:
        """What it says in one go."""
        said = list(ids)
        for _ in range(tokens):
            said.append(int(self.forward(said)[0][-1].argmax()))
        return said[len(ids) :]
