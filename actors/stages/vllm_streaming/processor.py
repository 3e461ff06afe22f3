"""Our drawing of tokens inside vLLM: a logits processor that leaves one token for vLLM to take.

Every request is greedy to vLLM, so its own sampling kernels, which are compiled at their first use, are never
met, and repetition penalty counts what our rules say (vLLM's own would count the growing prompt). The same
place sees the hidden states: logits and states have the same rows.
"""

from __future__ import annotations

import os
from typing import Any

import msgspec
import torch
from vllm.v1.sample.logits_processor import BatchUpdate, LogitsProcessor, MoveDirectionality

from . import shared
from .choosing import NEVER, choose, placed
from .model import sampled
from .options import SETTING
from .rows import Row, decode, plan, step


class Drawer(LogitsProcessor):
    """One in each engine core. With model runner V1 only: V2 loads another kind."""

    def __init__(self, vllm_config: Any, device: torch.device, is_pin_memory: bool) -> None:
        self._device = device
        given = vllm_config.additional_config[SETTING]
        self._layout = msgspec.convert(given["layout"], shared.Layout)
        self._memory = shared.attach(self._layout)
        self._states = self._layout.states(self._memory) if given["hidden"] else None
        self._characters = self._layout.characters(self._memory).tolist()
        self._layout.drawn_by(self._memory)[0] = os.getpid()
        self._rows: dict[int, Row] = {}
        self._planned: Any = None

    def is_argmax_invariant(self) -> bool:
        return False

    def update_state(self, batch_update: BatchUpdate | None) -> None:
        if batch_update is None:
            return
        self._planned = None
        for index in batch_update.removed:
            self._rows.pop(index, None)
        for index, params, _, drawn in batch_update.added:
            asked = decode(params.extra_args)
            self._rows.pop(index, None)
            if asked is not None:
                self._rows[index] = Row(asked, drawn, self._layout.vocabulary)
        for one, other, direction in batch_update.moved:
            self._move(one, other, swap=direction == MoveDirectionality.SWAP)

    def _move(self, one: int, other: int, *, swap: bool) -> None:
        moving, met = self._rows.pop(one, None), self._rows.pop(other, None)
        if moving is not None:
            self._rows[other] = moving
        if swap and met is not None:
            self._rows[one] = met

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        if not self._rows:
            return logits
        rows = [self._rows.get(index) for index in range(logits.shape[0])]
        vocabulary = logits.shape[1]
        if self._planned is None or self._planned[0] != len(rows):
            planned = plan(rows, vocabulary)
            self._planned = (len(rows), planned, placed(planned, self._device))
        _, planned, on_device = self._planned
        token = choose(logits, planned, on_device, step(rows, planned, self._characters, vocabulary))
        ours = torch.tensor([row is not None for row in rows], device=self._device)
        only = torch.full_like(logits, NEVER).scatter_(1, token[:, None], 0.0)
        if self._states is not None:
            self._keep(rows, self._states)
        return torch.where(ours[:, None], only, logits)

    def _keep(self, rows: list[Row | None], states: Any) -> None:
        """What was just fed of each segment: the state behind its newest token. In the shared memory before
        the token that is drawn now is told to anybody."""
        fed = [(index, row) for index, row in enumerate(rows) if row and row.drawn]
        if not fed:
            return
        indices = torch.tensor([index for index, _ in fed], device=self._device)
        found = sampled.states.index_select(0, indices).float().cpu().numpy()
        for (_, row), state in zip(fed, found, strict=True):
            states[row.asked.row, len(row.drawn) - 1] = state
