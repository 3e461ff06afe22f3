"""The drawing rules as vLLM's engine core has them: over a batch, on the device of the logits."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.actors.stages.vllm_streaming import rows
from antiphon.actors.stages.vllm_streaming.choosing import choose, placed
from antiphon.actors.stages.vllm_streaming.rows import Asked, plan, step
from tests.stages.minicpmo.drawn_alike import CHARACTERS, MOST, ROW, SEED, VOCABULARY, Logits, Row, check

pytestmark = pytest.mark.vllm


def drawn(logits: Logits, asked: Sequence[Row | None]) -> list[int]:
    batch = [row and rows.Row(Asked(0, MOST, row[0]), row[1], VOCABULARY) for row in asked]
    planned = plan(batch, VOCABULARY)
    now = step(batch, planned, CHARACTERS, VOCABULARY)
    chosen = choose(torch.from_numpy(logits), planned, placed(planned, torch.device("cpu")), now)
    return [int(token) for token in chosen]


@settings(max_examples=500, deadline=None)
@given(st.lists(st.none() | ROW, min_size=1, max_size=5), SEED)
def test_a_batch_draws_what_each_row_would_draw_alone(asked: list[Row | None], seed: int):
    check(drawn, asked, seed)
