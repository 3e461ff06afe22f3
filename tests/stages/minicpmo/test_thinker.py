"""What every thinker refuses beforehand."""

from __future__ import annotations

import numpy as np
import pytest

from antiphon.actors.stages.minicpmo.drawing import Drawing
from antiphon.actors.stages.minicpmo.thinker import Append, Facts, Piece, Rejected, check

FACTS = Facts(
    name="none",
    max_sessions=4,
    context_tokens=64,
    kv_tokens=150,
    hidden=8,
    vocabulary=100,
    can_truncate=True,
    gives_hidden=True,
)


def append(*pieces: Piece, max_tokens: int = 20) -> Append:
    return Append(number=0, pieces=pieces, max_tokens=max_tokens, stop=frozenset(), drawing=Drawing())


def test_places_are_bounded_by_slots_and_by_kv():
    assert FACTS.places == 2


def test_the_context_is_never_passed():
    heard = np.zeros((10, 8), np.float32)
    check(FACTS, 64 - 1 - 20 - 13, append((1, 2, 3), heard))
    with pytest.raises(Rejected) as refused:
        check(FACTS, 64 - 20 - 13, append((1, 2, 3), heard))
    assert refused.value.code == "context_full"


@pytest.mark.parametrize(
    "wrong",
    [
        append(),
        append(()),
        append((100,)),
        append((-1,)),
        append((1,), max_tokens=0),
        append(np.zeros((2, 9), np.float32)),
    ],
)
def test_what_is_no_append_is_refused(wrong: Append):
    with pytest.raises(Rejected) as refused:
        check(FACTS, 0, wrong)
    assert refused.value.code == "out_of_order"
