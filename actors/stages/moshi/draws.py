"""Drawing tokens so that a conversation does not depend on its neighbours.

torch's generator is one for the whole batch. Here every slot has a counter-based generator of its own
(Philox, keyed by the session's seed), which gives one number in [0, 1) for each token of a frame; the token
is the one at which the cumulative probability of the likeliest k passes that number.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .stepper import MOST_CANDIDATES, Sampling


class Draws:
    """The numbers that one conversation's tokens are drawn by."""

    def __init__(self, seed: int, each_frame: int) -> None:
        self._random = np.random.Generator(np.random.Philox(key=seed))
        self._each_frame = each_frame

    def next(self) -> NDArray[np.float32]:
        """For the tokens of one frame."""
        return self._random.random(self._each_frame, dtype=np.float32)


class Choice:
    """How each slot draws one kind of token, as tensors of shape [slots]."""

    def __init__(self, slots: int, device: torch.device) -> None:
        self.temperature = torch.zeros(slots, 1, device=device)
        self.candidates = torch.ones(slots, 1, dtype=torch.long, device=device)

    def put(self, slot: int, temperature: float, candidates: int) -> None:
        self.temperature[slot] = temperature
        self.candidates[slot] = candidates


def choices(slots: int, device: torch.device) -> tuple[Choice, Choice]:
    """For text and for audio."""
    return Choice(slots, device), Choice(slots, device)


def put(text: Choice, audio: Choice, slot: int, sampling: Sampling) -> None:
    text.put(slot, sampling.text_temperature, sampling.text_topk)
    audio.put(slot, sampling.audio_temperature, sampling.audio_topk)


def draw(logits: Tensor, choice: Choice, numbers: Tensor) -> Tensor:
    """`logits` [slots, vocabulary], `numbers` [slots] in [0, 1): the tokens, [slots]."""
    most = min(MOST_CANDIDATES, logits.shape[-1])
    values, tokens = torch.topk(logits.float(), most, dim=-1)
    warm = torch.where(choice.temperature > 0, choice.temperature, torch.ones_like(choice.temperature))
    considered = torch.arange(most, device=logits.device)[None] < choice.candidates
    probable = torch.softmax((values / warm).masked_fill(~considered, float("-inf")), dim=-1)
    passed = torch.cumsum(probable, dim=-1) <= numbers[:, None]
    place = passed.sum(dim=-1, keepdim=True).clamp(max=most - 1).minimum(choice.candidates - 1)
    place = torch.where(choice.temperature > 0, place, torch.zeros_like(place))
    return tokens.gather(-1, place)[:, 0]
