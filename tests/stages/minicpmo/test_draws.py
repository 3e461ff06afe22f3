"""The drawing rules as the torch thinker has them: over its slots."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.actors.stages.minicpmo.drawing import forced, numbers
from tests.stages.minicpmo.drawn_alike import CHARACTERS, MOST, ROW, SEED, VOCABULARY, Logits, Row, check

pytestmark = pytest.mark.minicpmo
torch = pytest.importorskip("torch")

from antiphon.actors.stages.minicpmo.nets.draws import Draws  # noqa: E402  # after importorskip

SLOTS = 5
DRAWS = Draws(SLOTS, VOCABULARY, torch.device("cpu"))
"""One for all examples: a slot is begun anew with each segment."""


def drawn(logits: Logits, asked: Sequence[Row | None]) -> list[int]:
    """As TorchThinker draws: who must take a token is not asked."""
    given = [row for row in asked if row is not None]
    for slot, (rules, tokens) in enumerate(given):
        DRAWS.begin(slot, rules)
        for token in tokens:
            DRAWS.drawn([slot], [token])
    must = [forced(rules, tokens, MOST, CHARACTERS) for rules, tokens in given]
    free = [slot for slot, token in enumerate(must) if token is None]
    if free:
        chosen = DRAWS.choose(
            torch.from_numpy(logits[free]),
            free,
            [len(given[slot][1]) for slot in free],
            [numbers(given[slot][0], len(given[slot][1])) for slot in free],
        )
        for slot, token in zip(free, chosen, strict=True):
            must[slot] = token
    return [token for token in must if token is not None]


@settings(max_examples=500, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=SLOTS), SEED)
def test_a_batch_draws_what_each_row_would_draw_alone(asked: list[Row], seed: int):
    check(drawn, asked, seed)
