"""What the talker is given, and how a turn's sound hangs together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.actors.stages.minicpmo.handing import Chunk, cut, following, hand_over
from antiphon.actors.stages.minicpmo.segments import is_open, read
from tests.stages.minicpmo.making import SPECIALS

S = SPECIALS


@settings(deadline=None)
@given(st.lists(st.sampled_from([10, 11, S.speak, S.tts_bos, S.tts_pad, S.turn_eos]), max_size=19))
def test_each_word_keeps_the_state_behind_it(said: list[int]):
    generated = (*said, S.chunk_eos)
    states = np.arange(len(said), dtype=np.float32)[:, None].repeat(3, 1)
    handed = hand_over(read(S, generated), generated, states)
    assert handed.tokens == tuple(token for token in said if token in (10, 11))
    assert handed.states is not None
    assert [generated[int(row[0])] for row in handed.states] == list(handed.tokens)


def test_states_of_another_segment_are_refused():
    generated = (10, 11, S.chunk_eos)
    with pytest.raises(ValueError, match="3 states of 3 tokens"):
        hand_over(read(S, generated), generated, np.zeros((3, 3), np.float32))
    with pytest.raises(ValueError, match="not those"):
        hand_over(read(S, (11, 10, S.chunk_eos)), generated, np.zeros((2, 3), np.float32))


@pytest.mark.parametrize(
    ("generated", "before", "behind"),
    [
        ((S.listen,), True, False),
        ((10, S.chunk_eos), False, True),
        ((S.chunk_eos,), True, True),
        ((S.chunk_eos,), False, False),
        ((10, S.turn_eos, S.chunk_eos), True, False),
    ],
)
def test_whether_a_turn_is_open(generated: tuple[int, ...], before: bool, behind: bool):
    assert is_open(before, read(S, generated)) is behind


@settings(deadline=None)
@given(st.lists(st.sampled_from(["goes on", "ends", "cut"]), max_size=30))
def test_chunks_of_a_turn_follow_each_other_and_no_turn_goes_on_with_anothers(steps: list[str]):
    chunk: Chunk | None = None
    for step in steps:
        if step == "cut":
            chunk = cut(chunk)
            continue
        ended = chunk is None or chunk.last
        coming = following(chunk, last=step == "ends")
        assert (coming.number == 0) == ended
        if chunk is not None and not ended:
            assert (coming.stream, coming.number) == (chunk.stream, chunk.number + 1)
        elif chunk is not None:
            assert coming.stream == chunk.stream + 1
        chunk = coming
